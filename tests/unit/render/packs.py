"""The shipped packs and payloads for them: samples, other languages, and as many lines as a test wants."""

from __future__ import annotations

import copy
import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from quire.render.domain.template_pack import TemplatePack
from quire.render.infrastructure.filesystem.template_store import FolderTemplateStore
from quire.render.infrastructure.jinja.child import fill

ROOT = Path(__file__).parents[3]
SAMPLES = Path(__file__).parent / "samples"
NAMES = ("contract", "invoice", "receipt", "report", "statement")
LANGUAGES = ("en", "tr", "ru")
STORE = FolderTemplateStore([ROOT / "templates"], NAMES)

Payload = dict[str, Any]


def payload(name: str, language: str = "en") -> Payload:
    if language == "en":
        return copy.deepcopy(dict(STORE.pack(name).sample))
    return dict(json.loads((SAMPLES / f"{name}_{language}.json").read_text(encoding="utf-8")))


def filled(name: str, data: Payload) -> str:
    return fill({"source": STORE.pack(name).source, "data": data})


def pack_of(name: str) -> TemplatePack:
    return STORE.pack(name)


def invoice_of(lines: list[Payload], **changes: Any) -> Payload:
    """The sample invoice over other lines, added up as a careful author would."""
    data = payload("invoice") | {"lines": lines, **changes}
    data.pop("allowances", None)
    data.pop("charges", None)
    for line in lines:
        product = Decimal(str(line["quantity"])) * line["unit_price_minor"]
        line["net_minor"] = _rounded(product) - line.get("discount_minor", 0)
    data["taxes"] = _taxes(lines)
    net = sum(line["net_minor"] for line in lines)
    tax = sum(entry["amount_minor"] for entry in data["taxes"])
    data["totals"] = {"lines_minor": net, "net_minor": net, "tax_minor": tax}
    data["totals"] |= {"gross_minor": net + tax, "due_minor": net + tax}
    return data


def many_lines(count: int) -> list[Payload]:
    lines = payload("invoice")["lines"]
    return [lines[i % len(lines)] | {"name": f"Item number {i + 1}"} for i in range(count)]


def _taxes(lines: list[Payload]) -> list[Payload]:
    bases: dict[tuple[str, float], int] = {}
    for line in lines:
        key = (line["tax_category"], line["tax_rate"])
        bases[key] = bases.get(key, 0) + line["net_minor"]
    return [
        {
            "category": category,
            "rate": rate,
            "basis_minor": basis,
            "amount_minor": _rounded(Decimal(basis) * Decimal(str(rate)) / 100),
        }
        for (category, rate), basis in bases.items()
    ]


def _rounded(amount: Decimal) -> int:
    return int(amount.quantize(Decimal(1), ROUND_HALF_UP))

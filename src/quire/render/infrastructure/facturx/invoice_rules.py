"""The arithmetic and the presence rules of EN 16931 that a JSON Schema cannot say, in whole minor units. Each refusal
names the value at fault; rule numbers are those of the standard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from babel.numbers import get_currency_precision

from quire.render.domain.errors import TemplateError

Data = Mapping[str, Any]
TaxKey = tuple[str, Decimal]

VAT_ID = re.compile(r"[A-Z]{2}[A-Z0-9]{2,13}")
# Without tax, and saying why: exempt, reverse charge, intra-community, export, out of scope.
UNTAXED = frozenset({"E", "AE", "K", "G", "O"})
# Rounding of a product or a share may go either way.
ROUNDING_MINOR = 1


def check_invoice(data: Data) -> None:
    for rule in (_currency, _parties, _lines, _totals, _taxes, _payment, _intra_community):
        for pointer, reason in rule(data):
            raise refusal(pointer, reason)


def refusal(pointer: str, reason: str) -> TemplateError:
    return TemplateError(f"{pointer}: {reason}", extra={"pointer": pointer})


Faults = Iterator[tuple[str, str]]


def _currency(data: Data) -> Faults:
    if get_currency_precision(data["currency"]) > 2:
        yield "/currency", "EN 16931 knows amounts of at most two decimals (BR-DEC)"


def _parties(data: Data) -> Faults:
    for role in ("seller", "buyer"):
        if not data[role]["address"].get("country_code"):
            yield f"/{role}/address/country_code", "an e-invoice names the country (BR-9, BR-11)"
        vat_id = data[role].get("vat_id")
        if vat_id and not VAT_ID.fullmatch(compact(vat_id)):
            yield f"/{role}/vat_id", "a VAT identifier begins with its country (BR-CO-9)"
    if not data["seller"].get("vat_id") and not data["seller"].get("tax_number"):
        yield "/seller/vat_id", "an e-invoice names the seller's VAT identifier or tax number (BR-S-2)"


def _lines(data: Data) -> Faults:
    for index, line in enumerate(data["lines"]):
        product = Decimal(str(line["quantity"])) * line["unit_price_minor"]
        net = rounded(product) - line.get("discount_minor", 0)
        if abs(net - line["net_minor"]) > ROUNDING_MINOR:
            yield f"/lines/{index}/net_minor", f"quantity, price and discount give {net}"
        if line["tax_category"] == "S" and not line["tax_rate"]:
            yield f"/lines/{index}/tax_rate", "standard rate is above zero (BR-S-5)"


def _totals(data: Data) -> Faults:
    totals = data["totals"]
    lines = sum(line["net_minor"] for line in data["lines"])
    allowances = sum(change["amount_minor"] for change in data.get("allowances", ()))
    charges = sum(change["amount_minor"] for change in data.get("charges", ()))
    tax = sum(tax["amount_minor"] for tax in data["taxes"])
    due = totals["gross_minor"] - totals.get("prepaid_minor", 0) + totals.get("rounding_minor", 0)
    expected = {
        "lines_minor": (lines, "BR-CO-10"),
        "allowances_minor": (allowances, "BR-CO-11"),
        "charges_minor": (charges, "BR-CO-12"),
        "net_minor": (lines - allowances + charges, "BR-CO-13"),
        "tax_minor": (tax, "BR-CO-14"),
        "gross_minor": (totals["net_minor"] + tax, "BR-CO-15"),
        "due_minor": (due, "BR-CO-16"),
    }
    for name, (amount, rule) in expected.items():
        if totals.get(name, amount) != amount:
            yield f"/totals/{name}", f"the figures give {amount} ({rule})"


def _taxes(data: Data) -> Faults:
    bases = tax_bases(data)
    for index, tax in enumerate(data["taxes"]):
        basis = bases.pop((tax["category"], Decimal(str(tax["rate"]))), None)
        if basis != tax["basis_minor"]:
            yield f"/taxes/{index}/basis_minor", f"the lines of this rate give {basis} (BR-S-8)"
        share = rounded(Decimal(tax["basis_minor"]) * Decimal(str(tax["rate"])) / 100)
        if abs(share - tax["amount_minor"]) > ROUNDING_MINOR:
            yield f"/taxes/{index}/amount_minor", f"basis and rate give {share} (BR-CO-17)"
        if tax["category"] in UNTAXED and not (tax.get("exemption_reason") or tax.get("exemption_code")):
            yield f"/taxes/{index}/exemption_reason", "a line without tax says why (BR-E-10)"
    if bases:
        category, rate = next(iter(bases))
        yield "/taxes", f"no entry for category {category} at {rate:f} % (BR-CO-18)"


def tax_bases(data: Data) -> dict[TaxKey, int]:
    bases: dict[TaxKey, int] = {}
    signed = [(line, line["net_minor"]) for line in data["lines"]]
    signed += [(change, -change["amount_minor"]) for change in data.get("allowances", ())]
    signed += [(change, change["amount_minor"]) for change in data.get("charges", ())]
    for entry, amount in signed:
        key = (entry["tax_category"], Decimal(str(entry["tax_rate"])))
        bases[key] = bases.get(key, 0) + amount
    return bases


def _payment(data: Data) -> Faults:
    payment = data.get("payment", {})
    if data["totals"]["due_minor"] > 0 and not data.get("due_on") and not payment.get("terms"):
        yield "/due_on", "an amount due needs a due date or payment terms (BR-CO-25)"
    if payment.get("iban") and not valid_iban(payment["iban"]):
        yield "/payment/iban", "the check digits of this IBAN are wrong"
    if payment.get("means") == "transfer" and not (payment.get("iban") or payment.get("account_number")):
        yield "/payment/iban", "a transfer needs an account (BR-61)"


def _intra_community(data: Data) -> Faults:
    categories = {tax["category"] for tax in data["taxes"]}
    if categories & {"K", "AE"} and not data["buyer"].get("vat_id"):
        yield "/buyer/vat_id", "this tax category needs the buyer's VAT identifier (BR-AE-3, BR-IC-3)"
    if "K" not in categories:
        return
    if not (data.get("delivered_on") or data.get("period")):
        yield "/delivered_on", "an intra-community supply names its day or period (BR-IC-11)"
    if not data.get("deliver_to", {}).get("address", {}).get("country_code"):
        yield "/deliver_to/address/country_code", "an intra-community supply names the country (BR-IC-12)"


def rounded(amount: Decimal) -> int:
    return int(amount.quantize(Decimal(1), ROUND_HALF_UP))


def compact(text: str) -> str:
    return "".join(text.split())


def valid_iban(iban: str) -> bool:
    text = compact(iban)
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1

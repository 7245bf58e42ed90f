"""What runs in the jail: PDF in, checked XML out. Loads everything before the doors close."""

from __future__ import annotations

from typing import Any

from quire.convert.infrastructure.mappings import MAPPINGS, alto
from quire.convert.infrastructure.mappings.embedded_invoice import PROFILES, schema_of
from quire.convert.infrastructure.mappings.mapping import Source
from quire.convert.infrastructure.mappings.sample_pdf import sample_pdf
from quire.kernel import QuireError


def task(content: Any, size_bytes: int, arguments: dict[str, Any]) -> bytes:
    mapping = MAPPINGS[arguments["mapping"]]
    share, shares = arguments.get("share", 0), arguments.get("shares", 1)
    return mapping.checked(Source(content, size_bytes, arguments["pages_max"], share=share, shares=shares))


def warm_up() -> None:
    """Every mapping once, over a page of our own, so that whatever loads late is loaded."""
    sample = sample_pdf()
    for name, mapping in MAPPINGS.items():
        if mapping.schema is not None:
            mapping.schema.validator  # noqa: B018 - read, compiled and kept
        try:
            task(sample, len(sample), {"mapping": name, "pages_max": 1})
        except QuireError:
            continue
    for schema in (alto.SCHEMA, *map(schema_of, PROFILES)):
        schema.validator  # noqa: B018

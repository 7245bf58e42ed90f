"""The mappings that ship, by name. What another one takes is in `docs/guides/convert.md`, "Adding a mapping"."""

from __future__ import annotations

from quire.convert.infrastructure.mappings import akn, alto, facturx, tei, ubl_invoice
from quire.convert.infrastructure.mappings.mapping import Mapping

MAPPINGS: dict[str, Mapping] = {
    mapping.about.name: mapping
    for mapping in (alto.MAPPING, tei.MAPPING, akn.MAPPING, facturx.MAPPING, ubl_invoice.MAPPING)
}

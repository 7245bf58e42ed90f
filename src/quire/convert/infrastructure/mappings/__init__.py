"""The mappings that ship, by name. Another one is one file here, its schema, and a line in this table."""

from __future__ import annotations

from quire.convert.infrastructure.mappings import akn, alto, facturx, tei, ubl_invoice
from quire.convert.infrastructure.mappings.mapping import Mapping

MAPPINGS: dict[str, Mapping] = {
    mapping.about.name: mapping
    for mapping in (alto.MAPPING, tei.MAPPING, akn.MAPPING, facturx.MAPPING, ubl_invoice.MAPPING)
}

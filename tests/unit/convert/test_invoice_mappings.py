"""An invoice goes into a PDF and comes out the same, byte for byte; in UBL it says the same."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest
from facturx import generate_from_binary
from lxml import etree
from pypdf import PdfReader, PdfWriter
from tests.unit.convert.samples import GOLDEN, INVOICES, mapped, sample
from tests.unit.convert.small_invoice import an_invoice, with_attachments
from tests.unit.render.packs import payload

from quire.convert.domain.xml_mapping import EmbeddedInvoiceError, InvoiceWithoutLinesError, NoInvoiceError
from quire.convert.infrastructure.mappings.embedded_invoice import profile_of
from quire.reading.infrastructure.jail.cell import DETAIL_LENGTH
from quire.render.infrastructure.facturx.invoice_embedder import FacturxInvoiceEmbedder, invoice_xml

CBC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2}"
# Where the same is said: in CII, in UBL.
SAME = (
    (
        "SpecifiedTradeSettlementHeaderMonetarySummation/LineTotalAmount",
        "LegalMonetaryTotal/LineExtensionAmount",
    ),
    (
        "SpecifiedTradeSettlementHeaderMonetarySummation/GrandTotalAmount",
        "LegalMonetaryTotal/TaxInclusiveAmount",
    ),
    ("SpecifiedTradeSettlementHeaderMonetarySummation/DuePayableAmount", "LegalMonetaryTotal/PayableAmount"),
    ("SpecifiedTradeSettlementHeaderMonetarySummation/TaxTotalAmount", "TaxTotal/TaxAmount"),
    ("ApplicableHeaderTradeSettlement/ApplicableTradeTax/BasisAmount", "TaxSubtotal/TaxableAmount"),
    ("SpecifiedTradeSettlementLineMonetarySummation/LineTotalAmount", "InvoiceLine/LineExtensionAmount"),
    ("AssociatedDocumentLineDocument/LineID", "InvoiceLine/ID"),
    ("SpecifiedTradeProduct/Name", "Item/Name"),
    ("BilledQuantity", "InvoicedQuantity"),
    ("NetPriceProductTradePrice/ChargeAmount", "Price/PriceAmount"),
    ("SellerTradeParty/Name", "AccountingSupplierParty/Party/PartyLegalEntity/RegistrationName"),
    (
        "SellerTradeParty/SpecifiedTaxRegistration/ID",
        "AccountingSupplierParty/Party/PartyTaxScheme/CompanyID",
    ),
    ("BuyerTradeParty/Name", "AccountingCustomerParty/Party/PartyLegalEntity/RegistrationName"),
    ("BuyerTradeParty/SpecifiedTaxRegistration/ID", "AccountingCustomerParty/Party/PartyTaxScheme/CompanyID"),
    ("PayeePartyCreditorFinancialAccount/IBANID", "PayeeFinancialAccount/ID"),
)
BOMB = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY file SYSTEM "file:///etc/passwd">]><x>&file;</x>"""


@pytest.fixture(scope="module")
def page() -> bytes:
    writer, out = PdfWriter(), io.BytesIO()
    writer.add_blank_page(595, 842)
    writer.write(out)
    return out.getvalue()


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return payload("invoice")


@pytest.mark.parametrize("profile", ["minimum", "basicwl", "basic", "en16931"])
def test_the_embedded_invoice_comes_back_byte_for_byte(
    page: bytes, data: dict[str, Any], profile: str
) -> None:
    pdf = FacturxInvoiceEmbedder().embed(page, data, profile, "en")
    assert mapped("facturx", pdf) == invoice_xml(data, profile)


def test_an_invoice_that_a_browser_printed_gives_its_xml_and_its_text(data: dict[str, Any]) -> None:
    """What rendering does: Chromium's bytes, then the invoice put in."""
    pdf = FacturxInvoiceEmbedder().embed(sample("own-contract-en"), data, "en16931", "en")
    assert mapped("facturx", pdf) == invoice_xml(data, "en16931")
    assert b"DEFINITIONS" in mapped("alto", pdf)


def test_an_invoice_that_another_program_embedded_comes_back_too(page: bytes, data: dict[str, Any]) -> None:
    xml = invoice_xml(data, "en16931")
    assert mapped("facturx", generate_from_binary(page, xml)) == xml


def test_ubl_says_what_the_invoice_says(page: bytes, data: dict[str, Any]) -> None:
    pdf = FacturxInvoiceEmbedder().embed(page, data, "en16931", "en")
    ubl = mapped("ubl-invoice", pdf)
    assert ubl == (GOLDEN / "invoice.ubl-invoice.xml").read_bytes()
    cii, root = etree.fromstring(invoice_xml(data, "en16931")), etree.fromstring(ubl)
    assert root.findtext(f".//{CBC}PayableAmount") == cii.findtext(".//{*}DuePayableAmount")
    assert len(root.findall("{*}InvoiceLine")) == len(cii.findall(".//{*}IncludedSupplyChainTradeLineItem"))


@pytest.mark.parametrize("name", INVOICES)
def test_an_invoice_of_others_comes_back_as_it_lies_in_the_pdf(name: str) -> None:
    assert mapped("facturx", sample(name)) == attached(name)


@pytest.mark.parametrize("name", INVOICES)
def test_an_invoice_of_others_says_the_same_in_ubl(name: str) -> None:
    cii, ubl = etree.fromstring(attached(name)), etree.fromstring(mapped("ubl-invoice", sample(name)))
    for theirs, ours in SAME:
        assert texts(cii, theirs) == texts(ubl, ours), theirs
    numbers = ("SellerTradeParty/GlobalID", "SellerTradeParty/ID", "CreditorReferenceID")
    sellers = [number for path in numbers for number in texts(cii, path)]
    assert sellers == texts(ubl, "AccountingSupplierParty/Party/PartyIdentification/ID")
    assert ubl.findtext("{*}ID") == cii.findtext("{*}ExchangedDocument/{*}ID")
    lines = [Decimal(amount) for amount in texts(ubl, "InvoiceLine/LineExtensionAmount")]
    assert len(lines) == len(cii.findall(".//{*}IncludedSupplyChainTradeLineItem"))
    assert sum(lines) == Decimal(texts(ubl, "LegalMonetaryTotal/LineExtensionAmount")[0])


def test_the_invoices_of_others_are_there() -> None:
    assert INVOICES == ["invoice-factur-x", "invoice-zugferd", "invoice-zugferd-small"]


def attached(name: str) -> bytes:
    """As another library takes it out."""
    files = PdfReader(io.BytesIO(sample(name))).attachments
    return next(files[known][0] for known in ("factur-x.xml", "xrechnung.xml") if known in files)


def texts(root: etree._Element, path: str) -> list[str]:
    found = root.iterfind(".//" + "/".join(f"{{*}}{step}" for step in path.split("/")))
    return [(node.text or "").strip() for node in found if node.text]


def test_an_invoice_is_known_by_its_name_among_other_files() -> None:
    invoice = an_invoice()
    others = (("terms.txt", b"none"), ("../../invoice.bin", invoice.replace(b"R-1", b"R-2")))
    assert mapped("facturx", with_attachments(*others, ("Factur-X.xml", invoice))) == invoice
    with pytest.raises(
        NoInvoiceError, match=r"is attached, only \.\./\.\./invoice\.bin, terms\.txt; use `alto`"
    ):
        mapped("facturx", with_attachments(*others))


def test_of_many_attachments_with_long_and_odd_names_a_few_are_named_short_and_clean() -> None:
    others = [(f"{number}\x1b[31m{'x' * 400}.txt", b"none") for number in range(9)]
    with pytest.raises(NoInvoiceError) as refusal:
        mapped("facturx", with_attachments(*others))
    named, _, more = refusal.value.detail.partition("only ")[2].partition(" and ")
    assert [(len(name), name[-9:]) for name in named.split(", ")] == [(40, "xxxxxxxx…")] * 4
    assert more == "5 more; use `alto` or `tei` for its text"
    assert len(refusal.value.detail) <= DETAIL_LENGTH
    assert "0[31mx" in named
    assert refusal.value.detail.isprintable()


def test_a_pdf_without_an_invoice_is_refused() -> None:
    for mapping in ("facturx", "ubl-invoice"):
        with pytest.raises(NoInvoiceError, match=r"is attached, nor any other file; use `alto`"):
            mapped(mapping, sample("zoo-design"))


def test_an_invoice_without_lines_is_no_ubl_invoice(page: bytes, data: dict[str, Any]) -> None:
    with pytest.raises(InvoiceWithoutLinesError, match="use `facturx`"):
        mapped("ubl-invoice", FacturxInvoiceEmbedder().embed(page, data, "minimum", "en"))


@pytest.mark.parametrize("content", [b"", b"<x", b"<x/>", BOMB, b"\xff\xfe\x00<"])
def test_what_calls_itself_an_invoice_and_is_none_is_refused(content: bytes) -> None:
    with pytest.raises((EmbeddedInvoiceError, NoInvoiceError)) as refusal:
        mapped("facturx", with_attachments(("factur-x.xml", content)))
    assert "root:" not in refusal.value.detail


def test_an_invoice_is_held_to_the_profile_it_names(data: dict[str, Any]) -> None:
    for profile in ("minimum", "basicwl", "basic", "en16931"):
        assert profile_of(etree.fromstring(invoice_xml(data, profile))) == profile
    rich = invoice_xml(data, "en16931")
    poor = rich.replace(b"urn:cen.eu:en16931:2017", b"urn:factur-x.eu:1p0:minimum")
    assert poor != rich
    with pytest.raises(EmbeddedInvoiceError):
        mapped("facturx", with_attachments(("factur-x.xml", poor)))

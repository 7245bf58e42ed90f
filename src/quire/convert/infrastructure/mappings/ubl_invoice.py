"""`ubl-invoice`: the embedded Cross Industry Invoice in the words of UBL 2.1, term by term as EN 16931 binds both.

Nothing is computed: an amount that the one does not state, the other does not state either.
"""

from __future__ import annotations

from lxml import etree

from quire.convert.domain.xml_mapping import InvoiceWithoutLinesError, XmlMapping
from quire.convert.infrastructure.mappings.cii_reader import Cii
from quire.convert.infrastructure.mappings.embedded_invoice import embedded_invoice
from quire.convert.infrastructure.mappings.mapping import Mapping, Source
from quire.convert.infrastructure.mappings.schema import Schema
from quire.convert.infrastructure.mappings.ubl_line import add_line
from quire.convert.infrastructure.mappings.ubl_party import add_delivery, add_party, add_tax_representative
from quire.convert.infrastructure.mappings.ubl_settlement import (
    add_allowance,
    add_payment_means,
    add_taxes,
    add_totals,
)
from quire.convert.infrastructure.mappings.ubl_writer import INVOICE, Ubl
from quire.convert.infrastructure.mappings.xml_tree import serialized

EN16931 = "urn:cen.eu:en16931:2017"
ATTACHED, TENDER, INVOICED_OBJECT = "916", "50", "130"


def write(source: Source) -> bytes:
    _, root = embedded_invoice(source)
    return serialized(translated(Cii(root)))


def translated(cii: Cii) -> etree._Element:
    head = cii.one("ExchangedDocument")
    trade = cii.one("SupplyChainTradeTransaction")
    lines = trade.all("IncludedSupplyChainTradeLineItem")
    if not lines:
        raise InvoiceWithoutLinesError("its profile has none, and a UBL invoice must have them")
    agreement = trade.one("ApplicableHeaderTradeAgreement")
    delivery = trade.one("ApplicableHeaderTradeDelivery")
    settlement = trade.one("ApplicableHeaderTradeSettlement")
    currency = settlement.text("InvoiceCurrencyCode")
    ubl = Ubl(currency)
    root = ubl.root
    _add_context(ubl, cii)
    ubl.basic(root, "ID", head.text("ID"))
    ubl.basic(root, "IssueDate", head.day("IssueDateTime"))
    ubl.basic(root, "DueDate", settlement.day("SpecifiedTradePaymentTerms/DueDateDateTime"))
    ubl.basic(root, "InvoiceTypeCode", head.text("TypeCode"))
    for note in head.all("IncludedNote"):
        subject = note.text("SubjectCode")
        ubl.basic(root, "Note", f"#{subject}#{note.text('Content')}" if subject else note.text("Content"))
    ubl.basic(root, "TaxPointDate", settlement.day("ApplicableTradeTax/TaxPointDate"))
    ubl.basic(root, "DocumentCurrencyCode", currency)
    ubl.basic(root, "TaxCurrencyCode", settlement.text("TaxCurrencyCode"))
    ubl.basic(root, "AccountingCost", settlement.text("ReceivableSpecifiedTradeAccountingAccount/ID"))
    ubl.basic(root, "BuyerReference", agreement.text("BuyerReference"))
    _add_period(ubl, root, settlement)
    _add_references(ubl, agreement, delivery, settlement)
    add_party(ubl, "AccountingSupplierParty", agreement.one("SellerTradeParty"), settlement)
    add_party(ubl, "AccountingCustomerParty", agreement.one("BuyerTradeParty"))
    if settlement.has("PayeeTradeParty"):
        add_party(ubl, "PayeeParty", settlement.one("PayeeTradeParty"), is_wrapped=False)
    if agreement.has("SellerTaxRepresentativeTradeParty"):
        add_tax_representative(ubl, agreement.one("SellerTaxRepresentativeTradeParty"))
    add_delivery(ubl, delivery)
    add_payment_means(ubl, settlement)
    terms = settlement.text("SpecifiedTradePaymentTerms/Description")
    if terms:
        ubl.basic(ubl.part(root, "PaymentTerms"), "Note", terms)
    for allowance in settlement.all("SpecifiedTradeAllowanceCharge"):
        add_allowance(ubl, root, allowance)
    add_taxes(ubl, settlement)
    add_totals(ubl, settlement.one("SpecifiedTradeSettlementHeaderMonetarySummation"))
    for line in lines:
        add_line(ubl, line)
    return root


def _add_context(ubl: Ubl, cii: Cii) -> None:
    context = cii.one("ExchangedDocumentContext")
    guideline = context.text("GuidelineSpecifiedDocumentContextParameter/ID")
    # A profile of Factur-X says nothing to readers of UBL; the norm beneath it does.
    ubl.basic(ubl.root, "CustomizationID", EN16931 if "factur-x" in guideline else guideline)
    ubl.basic(ubl.root, "ProfileID", context.text("BusinessProcessSpecifiedDocumentContextParameter/ID"))


def _add_period(ubl: Ubl, parent: etree._Element, settlement: Cii) -> None:
    period = settlement.one("BillingSpecifiedPeriod")
    start, end = period.day("StartDateTime"), period.day("EndDateTime")
    if start or end:
        node = ubl.part(parent, "InvoicePeriod")
        ubl.basic(node, "StartDate", start)
        ubl.basic(node, "EndDate", end)


def _add_references(ubl: Ubl, agreement: Cii, delivery: Cii, settlement: Cii) -> None:
    order = agreement.text("BuyerOrderReferencedDocument/IssuerAssignedID")
    sales = agreement.text("SellerOrderReferencedDocument/IssuerAssignedID")
    if order or sales:
        node = ubl.part(ubl.root, "OrderReference")
        ubl.basic(node, "ID", order or "NA")
        ubl.basic(node, "SalesOrderID", sales)
    for earlier in settlement.all("InvoiceReferencedDocument"):
        node = ubl.part(ubl.part(ubl.root, "BillingReference"), "InvoiceDocumentReference")
        ubl.basic(node, "ID", earlier.text("IssuerAssignedID"))
        ubl.basic(node, "IssueDate", earlier.day("FormattedIssueDateTime"))
    papers = agreement.all("AdditionalReferencedDocument")
    _reference(
        ubl, "DespatchDocumentReference", delivery.text("DespatchAdviceReferencedDocument/IssuerAssignedID")
    )
    _reference(
        ubl, "ReceiptDocumentReference", delivery.text("ReceivingAdviceReferencedDocument/IssuerAssignedID")
    )
    for paper in papers:
        if paper.text("TypeCode") == TENDER:
            _reference(ubl, "OriginatorDocumentReference", paper.text("IssuerAssignedID"))
    _reference(
        ubl, "ContractDocumentReference", agreement.text("ContractReferencedDocument/IssuerAssignedID")
    )
    for paper in papers:
        if paper.text("TypeCode") in (ATTACHED, INVOICED_OBJECT, ""):
            _add_paper(ubl, paper)
    _reference(ubl, "ProjectReference", agreement.text("SpecifiedProcuringProject/ID"))


def _reference(ubl: Ubl, name: str, number: str) -> None:
    if number:
        ubl.basic(ubl.part(ubl.root, name), "ID", number)


def _add_paper(ubl: Ubl, paper: Cii) -> None:
    node = ubl.part(ubl.root, "AdditionalDocumentReference")
    ubl.basic(node, "ID", paper.text("IssuerAssignedID"), schemeID=paper.text("ReferenceTypeCode"))
    if paper.text("TypeCode") == INVOICED_OBJECT:
        ubl.basic(node, "DocumentTypeCode", INVOICED_OBJECT)
    ubl.basic(node, "DocumentDescription", paper.text("Name"))
    where, content = paper.text("URIID"), paper.text("AttachmentBinaryObject")
    if not (where or content):
        return
    attachment = ubl.part(node, "Attachment")
    if content:
        kind = paper.attribute("AttachmentBinaryObject", "mimeCode")
        name = paper.attribute("AttachmentBinaryObject", "filename")
        ubl.basic(attachment, "EmbeddedDocumentBinaryObject", content, mimeCode=kind, filename=name)
    if where:
        ubl.basic(ubl.part(attachment, "ExternalReference"), "URI", where)


MAPPING = Mapping(
    XmlMapping(
        name="ubl-invoice",
        version="1",
        description="The embedded invoice, translated to UBL",
        schema="UBL 2.1 Invoice",
        namespace=INVOICE,
    ),
    write,
    Schema("ubl/maindoc/UBL-Invoice-2.1.xsd"),
)

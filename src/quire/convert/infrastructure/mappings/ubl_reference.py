"""What an invoice refers to: orders, earlier invoices, papers of delivery and contract, attachments."""

from __future__ import annotations

from quire.convert.infrastructure.mappings.cii_reader import Cii
from quire.convert.infrastructure.mappings.ubl_writer import Ubl

TENDER, INVOICED_OBJECT = "50", "130"


def add_references(ubl: Ubl, agreement: Cii, delivery: Cii, settlement: Cii) -> None:
    _add_orders(ubl, agreement)
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
    _add_papers(ubl, [paper for paper in papers if paper.text("TypeCode") != TENDER])
    _reference(ubl, "ProjectReference", agreement.text("SpecifiedProcuringProject/ID"))


def _add_orders(ubl: Ubl, agreement: Cii) -> None:
    order = agreement.text("BuyerOrderReferencedDocument/IssuerAssignedID")
    sales = agreement.text("SellerOrderReferencedDocument/IssuerAssignedID")
    if order or sales:
        node = ubl.part(ubl.root, "OrderReference")
        ubl.basic(node, "ID", order or "NA")
        ubl.basic(node, "SalesOrderID", sales)


def _reference(ubl: Ubl, name: str, number: str) -> None:
    if number:
        ubl.basic(ubl.part(ubl.root, name), "ID", number)


def _add_papers(ubl: Ubl, papers: list[Cii]) -> None:
    """The norm has one invoiced object; what else calls itself one is a supporting document."""
    invoiced = next((paper for paper in papers if paper.text("TypeCode") == INVOICED_OBJECT), None)
    for paper in papers:
        _add_paper(ubl, paper, is_invoiced=paper is invoiced)


def _add_paper(ubl: Ubl, paper: Cii, *, is_invoiced: bool) -> None:
    node = ubl.part(ubl.root, "AdditionalDocumentReference")
    scheme = paper.text("ReferenceTypeCode") if is_invoiced else ""
    ubl.basic(node, "ID", paper.text("IssuerAssignedID"), schemeID=scheme)
    if is_invoiced:
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

"""`ubl-invoice`: the embedded Cross Industry Invoice in the words of UBL 2.1, term by term as EN 16931 binds both.

Nothing is computed: an amount that the one does not state, the other does not state either. What the norm has no term
for is left out; lines that do not count are told as notes.
"""

from __future__ import annotations

from lxml import etree

from quire.convert.domain.mapping_list import DESCRIPTIONS
from quire.convert.domain.xml_mapping import CreditNoteError, InvoiceWithoutLinesError, XmlMapping
from quire.convert.infrastructure.mappings.cii_reader import Cii
from quire.convert.infrastructure.mappings.embedded_invoice import embedded_invoice
from quire.convert.infrastructure.mappings.en16931 import guideline_for
from quire.convert.infrastructure.mappings.mapping import Mapping, Source
from quire.convert.infrastructure.mappings.schema import Schema
from quire.convert.infrastructure.mappings.ubl_line import add_line, counts, told
from quire.convert.infrastructure.mappings.ubl_party import add_delivery, add_party, add_tax_representative
from quire.convert.infrastructure.mappings.ubl_payment import add_payment_means, add_payment_terms
from quire.convert.infrastructure.mappings.ubl_reference import add_references
from quire.convert.infrastructure.mappings.ubl_settlement import (
    add_allowance,
    add_service_charge,
    add_taxes,
    add_totals,
)
from quire.convert.infrastructure.mappings.ubl_writer import INVOICE, Ubl
from quire.convert.infrastructure.mappings.xml_tree import serialized

# By EN 16931, UBL says these in a document that is no Invoice.
CREDIT_NOTES = frozenset({"83", "261", "262", "296", "308", "381", "396", "420", "458", "532"})
# When the tax falls due: at the invoice, the delivery, the payment. CII and UBL take their codes from different lists.
TAX_POINTS = {"5": "3", "29": "35", "72": "432"}


def write(source: Source) -> bytes:
    _, root = embedded_invoice(source)
    return serialized(translated(Cii(root)))


def translated(cii: Cii) -> etree._Element:
    trade = cii.one("SupplyChainTradeTransaction")
    lines = trade.all("IncludedSupplyChainTradeLineItem")
    counted = [line for line in lines if counts(line)]
    if not counted:
        raise InvoiceWithoutLinesError(
            "its profile has none, and a UBL invoice must have them; use `facturx` to get it as it is"
        )
    agreement = trade.one("ApplicableHeaderTradeAgreement")
    delivery = trade.one("ApplicableHeaderTradeDelivery")
    settlement = trade.one("ApplicableHeaderTradeSettlement")
    ubl = Ubl(settlement.text("InvoiceCurrencyCode"))
    asides = [told(line, ubl.currency) for line in lines if not counts(line)]
    _add_head(ubl, cii, settlement, asides)
    ubl.basic(ubl.root, "BuyerReference", agreement.text("BuyerReference"))
    _add_period(ubl, settlement)
    add_references(ubl, agreement, delivery, settlement)
    _add_parties(ubl, agreement, settlement)
    add_delivery(ubl, delivery)
    _add_settlement(ubl, settlement)
    for line in counted:
        add_line(ubl, line)
    context = cii.one("ExchangedDocumentContext")
    guideline = context.text("GuidelineSpecifiedDocumentContextParameter/ID")
    ubl.customize(guideline_for(ubl.root, guideline))
    return ubl.root


def _add_head(ubl: Ubl, cii: Cii, settlement: Cii, asides: list[str]) -> None:
    head, root = cii.one("ExchangedDocument"), ubl.root
    kind = head.text("TypeCode")
    if kind in CREDIT_NOTES:
        raise CreditNoteError(
            f"its type is {kind}, which UBL writes as a CreditNote; the mapping facturx gives it as it is"
        )
    ubl.basic(
        root,
        "ProfileID",
        cii.text("ExchangedDocumentContext/BusinessProcessSpecifiedDocumentContextParameter/ID"),
    )
    ubl.basic(root, "ID", head.text("ID"))
    ubl.basic(root, "IssueDate", head.day("IssueDateTime"))
    ubl.basic(root, "DueDate", settlement.day("SpecifiedTradePaymentTerms/DueDateDateTime"))
    ubl.basic(root, "InvoiceTypeCode", kind)
    for note in head.all("IncludedNote"):
        subject = note.text("SubjectCode")
        ubl.basic(root, "Note", f"#{subject}#{note.text('Content')}" if subject else note.text("Content"))
    for aside in asides:
        ubl.basic(root, "Note", aside)
    ubl.basic(root, "TaxPointDate", settlement.day("ApplicableTradeTax/TaxPointDate"))
    ubl.basic(root, "DocumentCurrencyCode", ubl.currency)
    ubl.basic(root, "TaxCurrencyCode", settlement.text("TaxCurrencyCode"))
    ubl.basic(root, "AccountingCost", settlement.text("ReceivableSpecifiedTradeAccountingAccount/ID"))


def _add_period(ubl: Ubl, settlement: Cii) -> None:
    period = settlement.one("BillingSpecifiedPeriod")
    start, end = period.day("StartDateTime"), period.day("EndDateTime")
    code = TAX_POINTS.get(settlement.text("ApplicableTradeTax/DueDateTypeCode"), "")
    if settlement.day("ApplicableTradeTax/TaxPointDate"):
        # The day itself is stated, and the norm takes one or the other.
        code = ""
    if start or end or code:
        node = ubl.part(ubl.root, "InvoicePeriod")
        ubl.basic(node, "StartDate", start)
        ubl.basic(node, "EndDate", end)
        ubl.basic(node, "DescriptionCode", code)


def _add_parties(ubl: Ubl, agreement: Cii, settlement: Cii) -> None:
    add_party(ubl, "AccountingSupplierParty", agreement.one("SellerTradeParty"), settlement)
    add_party(ubl, "AccountingCustomerParty", agreement.one("BuyerTradeParty"))
    if settlement.has("PayeeTradeParty"):
        add_party(ubl, "PayeeParty", settlement.one("PayeeTradeParty"), is_wrapped=False)
    if agreement.has("SellerTaxRepresentativeTradeParty"):
        add_tax_representative(ubl, agreement.one("SellerTaxRepresentativeTradeParty"))


def _add_settlement(ubl: Ubl, settlement: Cii) -> None:
    add_payment_means(ubl, settlement)
    add_payment_terms(ubl, settlement)
    for allowance in settlement.all("SpecifiedTradeAllowanceCharge"):
        add_allowance(ubl, ubl.root, allowance)
    for charge in settlement.all("SpecifiedLogisticsServiceCharge"):
        add_service_charge(ubl, charge)
    add_taxes(ubl, settlement)
    add_totals(ubl, settlement.one("SpecifiedTradeSettlementHeaderMonetarySummation"))


MAPPING = Mapping(
    XmlMapping(
        name="ubl-invoice",
        version="2",
        description=DESCRIPTIONS["ubl-invoice"],
        schema="UBL 2.1 Invoice",
        namespace=INVOICE,
    ),
    write,
    Schema("ubl/maindoc/UBL-Invoice-2.1.xsd"),
)

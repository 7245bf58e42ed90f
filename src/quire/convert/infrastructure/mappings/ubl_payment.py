"""How and by when it is paid."""

from __future__ import annotations

from lxml import etree

from quire.convert.infrastructure.mappings.cii_reader import Cii
from quire.convert.infrastructure.mappings.ubl_writer import Ubl

CARD = "ApplicableTradeSettlementFinancialCard"
PAYER = "PayerPartyDebtorFinancialAccount/IBANID"


def add_payment_means(ubl: Ubl, settlement: Cii) -> None:
    """The norm has several accounts to pay to, and of all else one: the first that is stated."""
    ways = settlement.all("SpecifiedTradeSettlementPaymentMeans")
    mandate = settlement.text("SpecifiedTradePaymentTerms/DirectDebitMandateID")
    named, carded, debited = (_first(ways, path) for path in ("Information", f"{CARD}/ID", PAYER))
    for means in ways:
        node = ubl.part(ubl.root, "PaymentMeans")
        name = means.text("Information") if means is named else ""
        ubl.basic(node, "PaymentMeansCode", means.text("TypeCode"), name=name)
        ubl.basic(node, "PaymentID", settlement.text("PaymentReference"))
        if means is carded:
            _add_card(ubl, node, means.one(CARD))
        _add_account(ubl, node, means)
        if means is (debited or ways[0]):
            _add_mandate(ubl, node, mandate, means.text(PAYER))


def add_payment_terms(ubl: Ubl, settlement: Cii) -> None:
    """The norm has one text for all of them."""
    terms = [term.text("Description") for term in settlement.all("SpecifiedTradePaymentTerms")]
    text = "\n".join(filter(None, terms))
    if text:
        ubl.basic(ubl.part(ubl.root, "PaymentTerms"), "Note", text)


def _first(ways: list[Cii], path: str) -> Cii | None:
    return next((means for means in ways if means.text(path)), None)


def _add_card(ubl: Ubl, node: etree._Element, card: Cii) -> None:
    account = ubl.part(node, "CardAccount")
    ubl.basic(account, "PrimaryAccountNumberID", card.text("ID"))
    ubl.basic(account, "NetworkID", "NA")
    ubl.basic(account, "HolderName", card.text("CardholderName"))


def _add_mandate(ubl: Ubl, node: etree._Element, mandate: str, payer: str) -> None:
    if mandate or payer:
        debit = ubl.part(node, "PaymentMandate")
        ubl.basic(debit, "ID", mandate)
        if payer:
            ubl.basic(ubl.part(debit, "PayerFinancialAccount"), "ID", payer)


def _add_account(ubl: Ubl, node: etree._Element, means: Cii) -> None:
    theirs = means.one("PayeePartyCreditorFinancialAccount")
    number = theirs.text("IBANID") or theirs.text("ProprietaryID")
    if not number:
        return
    account = ubl.part(node, "PayeeFinancialAccount")
    ubl.basic(account, "ID", number)
    ubl.basic(account, "Name", theirs.text("AccountName"))
    bank = means.text("PayeeSpecifiedCreditorFinancialInstitution/BICID")
    if bank:
        ubl.basic(ubl.part(account, "FinancialInstitutionBranch"), "ID", bank)

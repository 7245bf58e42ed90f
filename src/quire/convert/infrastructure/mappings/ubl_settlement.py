"""How it is paid, what is taxed, and what it all comes to."""

from __future__ import annotations

from lxml import etree

from quire.convert.infrastructure.mappings.cii_reader import Cii
from quire.convert.infrastructure.mappings.ubl_writer import Ubl

# UBL's name, CII's name.
TOTALS = (
    ("LineExtensionAmount", "LineTotalAmount"),
    ("TaxExclusiveAmount", "TaxBasisTotalAmount"),
    ("TaxInclusiveAmount", "GrandTotalAmount"),
    ("AllowanceTotalAmount", "AllowanceTotalAmount"),
    ("ChargeTotalAmount", "ChargeTotalAmount"),
    ("PrepaidAmount", "TotalPrepaidAmount"),
    ("PayableRoundingAmount", "RoundingAmount"),
    ("PayableAmount", "DuePayableAmount"),
)


def add_payment_means(ubl: Ubl, settlement: Cii) -> None:
    mandate = settlement.text("SpecifiedTradePaymentTerms/DirectDebitMandateID")
    for means in settlement.all("SpecifiedTradeSettlementPaymentMeans"):
        node = ubl.part(ubl.root, "PaymentMeans")
        ubl.basic(node, "PaymentMeansCode", means.text("TypeCode"), name=means.text("Information"))
        ubl.basic(node, "PaymentID", settlement.text("PaymentReference"))
        card = means.text("ApplicableTradeSettlementFinancialCard/ID")
        if card:
            account = ubl.part(node, "CardAccount")
            ubl.basic(account, "PrimaryAccountNumberID", card)
            ubl.basic(account, "NetworkID", "NA")
            ubl.basic(
                account, "HolderName", means.text("ApplicableTradeSettlementFinancialCard/CardholderName")
            )
        _add_account(ubl, node, means)
        payer = means.text("PayerPartyDebtorFinancialAccount/IBANID")
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


def add_allowance(ubl: Ubl, parent: etree._Element, allowance: Cii) -> None:
    node = ubl.part(parent, "AllowanceCharge")
    ubl.basic(node, "ChargeIndicator", allowance.text("ChargeIndicator/Indicator"))
    ubl.basic(node, "AllowanceChargeReasonCode", allowance.text("ReasonCode"))
    ubl.basic(node, "AllowanceChargeReason", allowance.text("Reason"))
    ubl.basic(node, "MultiplierFactorNumeric", allowance.text("CalculationPercent"))
    ubl.amount(node, "Amount", allowance.text("ActualAmount"))
    ubl.amount(node, "BaseAmount", allowance.text("BasisAmount"))
    for tax in allowance.all("CategoryTradeTax"):
        add_category(ubl, node, "TaxCategory", tax)


def add_category(ubl: Ubl, parent: etree._Element, name: str, tax: Cii, *, with_reason: bool = False) -> None:
    node = ubl.part(parent, name)
    ubl.basic(node, "ID", tax.text("CategoryCode"))
    ubl.basic(node, "Percent", tax.text("RateApplicablePercent"))
    if with_reason:
        ubl.basic(node, "TaxExemptionReasonCode", tax.text("ExemptionReasonCode"))
        ubl.basic(node, "TaxExemptionReason", tax.text("ExemptionReason"))
    ubl.basic(ubl.part(node, "TaxScheme"), "ID", tax.text("TypeCode") or "VAT")


def add_taxes(ubl: Ubl, settlement: Cii) -> None:
    """One total in the invoice's currency with its parts; another, bare, in the currency the tax is accounted in."""
    currency = settlement.text("InvoiceCurrencyCode")
    totals = settlement.all("SpecifiedTradeSettlementHeaderMonetarySummation/TaxTotalAmount")
    own = [total for total in totals if total.attribute(".", "currencyID") in ("", currency)]
    others = [total for total in totals if total.attribute(".", "currencyID") not in ("", currency)]
    taxes = settlement.all("ApplicableTradeTax")
    if own or taxes:
        node = ubl.part(ubl.root, "TaxTotal")
        ubl.amount(node, "TaxAmount", own[0].text() if own else "0")
        for tax in taxes:
            part = ubl.part(node, "TaxSubtotal")
            ubl.amount(part, "TaxableAmount", tax.text("BasisAmount"))
            ubl.amount(part, "TaxAmount", tax.text("CalculatedAmount"))
            add_category(ubl, part, "TaxCategory", tax, with_reason=True)
    for total in others:
        ubl.amount(
            ubl.part(ubl.root, "TaxTotal"), "TaxAmount", total.text(), total.attribute(".", "currencyID")
        )


def add_totals(ubl: Ubl, sums: Cii) -> None:
    node = ubl.part(ubl.root, "LegalMonetaryTotal")
    for ours, theirs in TOTALS:
        ubl.amount(node, ours, sums.text(theirs))

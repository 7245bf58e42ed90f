"""What comes off and on, what is taxed, and what it all comes to."""

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


def add_service_charge(ubl: Ubl, charge: Cii) -> None:
    """Freight and the like have an element of their own in CII; in the norm they are charges as any other."""
    node = ubl.part(ubl.root, "AllowanceCharge")
    ubl.basic(node, "ChargeIndicator", "true")
    ubl.basic(node, "AllowanceChargeReason", charge.text("Description"))
    ubl.amount(node, "Amount", charge.text("AppliedAmount"))
    for tax in charge.all("AppliedTradeTax"):
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

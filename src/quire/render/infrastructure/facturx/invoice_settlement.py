"""How a Cross Industry Invoice is paid: means, taxes, allowances, terms and totals."""

from __future__ import annotations

from quire.render.infrastructure.facturx.invoice_part import InvoicePart, rate_node, tax_node
from quire.render.infrastructure.facturx.invoice_rules import compact
from quire.render.infrastructure.facturx.xml_writer import Node, day_node, node

# UNTDID 4461.
MEANS_CODES = {"transfer": "30", "card": "48", "cash": "10", "direct_debit": "59"}
SEPA_TRANSFER = "58"


class InvoiceSettlement(InvoicePart):
    def to_node(self) -> Node:
        data = self._data
        whole = self._holds("basicwl")
        reference = data.get("payment", {}).get("reference", data["number"])
        return node(
            "ApplicableHeaderTradeSettlement",
            node("PaymentReference", reference) if whole else None,
            node("InvoiceCurrencyCode", data["currency"]),
            [self._means(), *self._tax_summary(), self._period()] if whole else None,
            self._changes() if whole else None,
            self._terms() if whole else None,
            self._summation(),
            self._corrected() if whole else None,
        )

    def _means(self) -> Node:
        payment, full = self._data.get("payment", {}), self._holds("en16931")
        iban = compact(payment.get("iban", ""))
        code = MEANS_CODES[payment.get("means", "transfer")] if payment else ""
        sepa = code == MEANS_CODES["transfer"] and iban and self._data["currency"] == "EUR"
        account = node(
            "PayeePartyCreditorFinancialAccount",
            node("IBANID", iban),
            node("AccountName", payment.get("account_holder", "")) if full else None,
            node("ProprietaryID", "" if iban else payment.get("account_number", "")),
        )
        bank = node("PayeeSpecifiedCreditorFinancialInstitution", node("BICID", payment.get("bic", "")))
        return node(
            "SpecifiedTradeSettlementPaymentMeans",
            node("TypeCode", SEPA_TRANSFER if sepa else code),
            account,
            bank if full and iban else None,
        )

    def _tax_summary(self) -> list[Node]:
        return [
            node(
                "ApplicableTradeTax",
                self._amount("CalculatedAmount", tax["amount_minor"]),
                node("TypeCode", "VAT"),
                node("ExemptionReason", tax.get("exemption_reason", "")),
                self._amount("BasisAmount", tax["basis_minor"]),
                node("CategoryCode", tax["category"]),
                node("ExemptionReasonCode", tax.get("exemption_code", "")),
                rate_node(tax["category"], tax["rate"]),
            )
            for tax in self._data["taxes"]
        ]

    def _period(self) -> Node:
        period = self._data.get("period", {})
        return node(
            "BillingSpecifiedPeriod",
            day_node("StartDateTime", period.get("start_on")),
            day_node("EndDateTime", period.get("end_on")),
        )

    def _changes(self) -> list[Node]:
        kinds = (("false", "allowances"), ("true", "charges"))
        return [
            node(
                "SpecifiedTradeAllowanceCharge",
                node("ChargeIndicator", node("udt:Indicator", indicator)),
                self._amount("ActualAmount", change["amount_minor"]),
                node("Reason", change["reason"]),
                tax_node("CategoryTradeTax", change["tax_category"], change["tax_rate"]),
            )
            for indicator, kind in kinds
            for change in self._data.get(kind, ())
        ]

    def _terms(self) -> Node:
        return node(
            "SpecifiedTradePaymentTerms",
            node("Description", self._data.get("payment", {}).get("terms", "")),
            day_node("DueDateDateTime", self._data.get("due_on")),
        )

    def _summation(self) -> Node:
        totals, currency = self._data["totals"], self._data["currency"]
        whole = self._holds("basicwl")
        allowances = sum(change["amount_minor"] for change in self._data.get("allowances", ()))
        charges = sum(change["amount_minor"] for change in self._data.get("charges", ()))
        rounding = totals.get("rounding_minor", 0) if self._holds("en16931") else 0
        tax = self._text(totals["tax_minor"])
        return node(
            "SpecifiedTradeSettlementHeaderMonetarySummation",
            self._amount("LineTotalAmount", totals["lines_minor"]) if whole else None,
            self._amount("ChargeTotalAmount", charges) if whole and charges else None,
            self._amount("AllowanceTotalAmount", allowances) if whole and allowances else None,
            self._amount("TaxBasisTotalAmount", totals["net_minor"]),
            node("TaxTotalAmount", tax, currencyID=currency),
            self._amount("RoundingAmount", rounding) if rounding else None,
            self._amount("GrandTotalAmount", totals["gross_minor"]),
            self._amount("TotalPrepaidAmount", totals.get("prepaid_minor", 0)) if whole else None,
            self._amount("DuePayableAmount", totals["due_minor"]),
        )

    def _corrected(self) -> Node:
        number = node("IssuerAssignedID", self._data.get("corrects_number", ""))
        return node("InvoiceReferencedDocument", number)

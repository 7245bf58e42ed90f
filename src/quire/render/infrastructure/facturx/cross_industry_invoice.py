"""An invoice payload as a Cross Industry Invoice (CII) document. Each profile holds what the one below it holds and
more; the order of elements is the XSD's. Expects data that passed `check_invoice`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quire.render.infrastructure.facturx.invoice_part import InvoicePart, plain, tax_node
from quire.render.infrastructure.facturx.invoice_parties import contact, party, ship_to
from quire.render.infrastructure.facturx.invoice_settlement import InvoiceSettlement
from quire.render.infrastructure.facturx.xml_writer import (
    DECLARED,
    Node,
    day_node,
    empty_node,
    node,
    serialised,
)

GUIDELINES = {
    "minimum": "urn:factur-x.eu:1p0:minimum",
    "basicwl": "urn:factur-x.eu:1p0:basicwl",
    "basic": "urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic",
    "en16931": "urn:cen.eu:en16931:2017",
}
# UNTDID 1001.
TYPE_CODES = {"invoice": "380", "credit_note": "381"}


class CrossIndustryInvoice(InvoicePart):
    def to_xml(self) -> bytes:
        parts = self._context(), self._document(), self._transaction()
        root = node("rsm:CrossIndustryInvoice", *parts, **DECLARED)
        assert root is not None
        return serialised(root)

    def _context(self) -> Node:
        guideline = node("GuidelineSpecifiedDocumentContextParameter", node("ID", GUIDELINES[self._profile]))
        return node("rsm:ExchangedDocumentContext", guideline)

    def _document(self) -> Node:
        data = self._data
        notes = [node("IncludedNote", node("Content", note)) for note in data.get("notes", ())]
        return node(
            "rsm:ExchangedDocument",
            node("ID", data["number"]),
            node("TypeCode", TYPE_CODES[data.get("kind", "invoice")]),
            day_node("IssueDateTime", data["issued_on"]),
            notes if self._holds("basicwl") else None,
        )

    def _transaction(self) -> Node:
        lines = [self._line(number, line) for number, line in enumerate(self._data["lines"], 1)]
        return node(
            "rsm:SupplyChainTradeTransaction",
            lines if self._holds("basic") else None,
            self._agreement(),
            self._delivery(),
            InvoiceSettlement(self._data, self._profile).to_node(),
        )

    def _line(self, number: int, line: Mapping[str, Any]) -> Node:
        full = self._holds("en16931")
        product = node(
            "SpecifiedTradeProduct",
            node("SellerAssignedID", line.get("sku", "")) if full else None,
            node("Name", line["name"]),
            node("Description", line.get("description", "")) if full else None,
        )
        price = node("NetPriceProductTradePrice", self._amount("ChargeAmount", line["unit_price_minor"]))
        quantity = node("BilledQuantity", plain(line["quantity"]), unitCode=line["unit"])
        return node(
            "IncludedSupplyChainTradeLineItem",
            node("AssociatedDocumentLineDocument", node("LineID", str(number))),
            product,
            node("SpecifiedLineTradeAgreement", price),
            node("SpecifiedLineTradeDelivery", quantity),
            self._line_settlement(line),
        )

    def _line_settlement(self, line: Mapping[str, Any]) -> Node:
        total = self._amount("LineTotalAmount", line["net_minor"])
        return node(
            "SpecifiedLineTradeSettlement",
            tax_node("ApplicableTradeTax", line["tax_category"], line["tax_rate"]),
            self._discount(line.get("discount_minor", 0)),
            node("SpecifiedTradeSettlementLineMonetarySummation", total),
        )

    def _discount(self, amount_minor: int) -> Node:
        if not amount_minor:
            return None
        return node(
            "SpecifiedTradeAllowanceCharge",
            node("ChargeIndicator", node("udt:Indicator", "false")),
            self._amount("ActualAmount", amount_minor),
            # UNTDID 5189: discount.
            node("ReasonCode", "95"),
        )

    def _agreement(self) -> Node:
        data, extra = self._data, self._data.get("e_invoice", {})
        contract = node("IssuerAssignedID", data.get("contract_number", ""))
        return node(
            "ApplicableHeaderTradeAgreement",
            node("BuyerReference", extra.get("buyer_reference", "")),
            self._party("SellerTradeParty", "seller"),
            self._party("BuyerTradeParty", "buyer"),
            node("BuyerOrderReferencedDocument", node("IssuerAssignedID", data.get("order_number", ""))),
            node("ContractReferencedDocument", contract) if self._holds("basicwl") else None,
        )

    def _party(self, tag: str, role: str) -> Node:
        person = contact(self._data[role]) if self._holds("en16931") else None
        endpoint = self._data.get("e_invoice", {}).get(f"{role}_electronic_address")
        return party(tag, self._data[role], person, endpoint, whole=self._holds("basicwl"))

    def _delivery(self) -> Node:
        happened = day_node("OccurrenceDateTime", self._data.get("delivered_on"))
        delivery = node(
            "ApplicableHeaderTradeDelivery",
            ship_to(self._data.get("deliver_to")),
            node("ActualDeliverySupplyChainEvent", happened),
        )
        if delivery is not None and self._holds("basicwl"):
            return delivery
        # The XSD wants the element even when nothing is known.
        return empty_node("ApplicableHeaderTradeDelivery")

"""One line of an invoice: what was sold, how much of it, at which price."""

from __future__ import annotations

from lxml import etree

from quire.convert.infrastructure.mappings.cii_reader import Cii
from quire.convert.infrastructure.mappings.ubl_settlement import add_allowance, add_category
from quire.convert.infrastructure.mappings.ubl_writer import Ubl


def add_line(ubl: Ubl, line: Cii) -> None:
    agreement = line.one("SpecifiedLineTradeAgreement")
    settlement = line.one("SpecifiedLineTradeSettlement")
    quantity = line.one("SpecifiedLineTradeDelivery/BilledQuantity")
    node = ubl.part(ubl.root, "InvoiceLine")
    ubl.basic(node, "ID", line.text("AssociatedDocumentLineDocument/LineID"))
    ubl.basic(node, "Note", line.text("AssociatedDocumentLineDocument/IncludedNote/Content"))
    ubl.basic(node, "InvoicedQuantity", quantity.text(), unitCode=quantity.attribute(".", "unitCode"))
    ubl.amount(
        node,
        "LineExtensionAmount",
        settlement.text("SpecifiedTradeSettlementLineMonetarySummation/LineTotalAmount"),
    )
    ubl.basic(node, "AccountingCost", settlement.text("ReceivableSpecifiedTradeAccountingAccount/ID"))
    _add_period(ubl, node, settlement.one("BillingSpecifiedPeriod"))
    order = agreement.text("BuyerOrderReferencedDocument/LineID")
    if order:
        ubl.basic(ubl.part(node, "OrderLineReference"), "LineID", order)
    for allowance in settlement.all("SpecifiedTradeAllowanceCharge"):
        add_allowance(ubl, node, allowance)
    _add_item(ubl, node, line.one("SpecifiedTradeProduct"), settlement)
    _add_price(ubl, node, agreement)


def _add_period(ubl: Ubl, node: etree._Element, period: Cii) -> None:
    start, end = period.day("StartDateTime"), period.day("EndDateTime")
    if start or end:
        part = ubl.part(node, "InvoicePeriod")
        ubl.basic(part, "StartDate", start)
        ubl.basic(part, "EndDate", end)


def _add_item(ubl: Ubl, node: etree._Element, product: Cii, settlement: Cii) -> None:
    item = ubl.part(node, "Item")
    ubl.basic(item, "Description", product.text("Description"))
    ubl.basic(item, "Name", product.text("Name"))
    for name, number in (
        ("BuyersItemIdentification", product.one("BuyerAssignedID")),
        ("SellersItemIdentification", product.one("SellerAssignedID")),
        ("StandardItemIdentification", product.one("GlobalID")),
    ):
        if number.text():
            ubl.basic(ubl.part(item, name), "ID", number.text(), schemeID=number.attribute(".", "schemeID"))
    if product.text("OriginTradeCountry/ID"):
        ubl.basic(
            ubl.part(item, "OriginCountry"), "IdentificationCode", product.text("OriginTradeCountry/ID")
        )
    for kind in product.all("DesignatedProductClassification"):
        code = kind.one("ClassCode")
        ubl.basic(
            ubl.part(item, "CommodityClassification"),
            "ItemClassificationCode",
            code.text(),
            listID=code.attribute(".", "listID"),
            listVersionID=code.attribute(".", "listVersionID"),
        )
    for tax in settlement.all("ApplicableTradeTax"):
        add_category(ubl, item, "ClassifiedTaxCategory", tax)
    for trait in product.all("ApplicableProductCharacteristic"):
        part = ubl.part(item, "AdditionalItemProperty")
        ubl.basic(part, "Name", trait.text("Description"))
        ubl.basic(part, "Value", trait.text("Value"))


def _add_price(ubl: Ubl, node: etree._Element, agreement: Cii) -> None:
    net, gross = agreement.one("NetPriceProductTradePrice"), agreement.one("GrossPriceProductTradePrice")
    if not net.text("ChargeAmount"):
        return
    price = ubl.part(node, "Price")
    ubl.amount(price, "PriceAmount", net.text("ChargeAmount"))
    basis = net.one("BasisQuantity") if net.has("BasisQuantity") else gross.one("BasisQuantity")
    ubl.basic(price, "BaseQuantity", basis.text(), unitCode=basis.attribute(".", "unitCode"))
    discount = gross.text("AppliedTradeAllowanceCharge/ActualAmount")
    if discount:
        part = ubl.part(price, "AllowanceCharge")
        ubl.basic(part, "ChargeIndicator", "false")
        ubl.amount(part, "Amount", discount)
        ubl.amount(part, "BaseAmount", gross.text("ChargeAmount"))

"""One line of an invoice: what was sold, how much of it, at which price. And which lines count at all."""

from __future__ import annotations

from decimal import Decimal

from lxml import etree

from quire.convert.infrastructure.mappings.cii_reader import Cii
from quire.convert.infrastructure.mappings.ubl_settlement import add_allowance, add_category
from quire.convert.infrastructure.mappings.ubl_writer import Ubl

# Subtotals of other lines, and what lines consist of: their amounts are in no total.
ASIDE = ("GROUP", "INFORMATION")
INVOICED_OBJECT = "130"
LINE = "AssociatedDocumentLineDocument"
AMOUNT = "SpecifiedTradeSettlementLineMonetarySummation/LineTotalAmount"


def counts(line: Cii) -> bool:
    return line.text(f"{LINE}/LineStatusReasonCode").upper() not in ASIDE


def told(line: Cii, currency: str) -> str:
    """A line that does not count, in one sentence: the norm's lines all do."""
    product, amount = line.one("SpecifiedTradeProduct"), line.text(f"SpecifiedLineTradeSettlement/{AMOUNT}")
    quantity = line.one("SpecifiedLineTradeDelivery/BilledQuantity")
    words = [
        product.text("Name"),
        product.text("Description"),
        _notes(line),
        f"{quantity.text()} {quantity.attribute('.', 'unitCode')}".strip(),
        f"{amount} {currency}" if amount else "",
    ]
    return f"{line.text(f'{LINE}/LineID')}: {'; '.join(filter(None, words))}"


def add_line(ubl: Ubl, line: Cii) -> None:
    agreement = line.one("SpecifiedLineTradeAgreement")
    settlement = line.one("SpecifiedLineTradeSettlement")
    quantity = line.one("SpecifiedLineTradeDelivery/BilledQuantity")
    node = ubl.part(ubl.root, "InvoiceLine")
    ubl.basic(node, "ID", line.text(f"{LINE}/LineID"))
    ubl.basic(node, "Note", _notes(line))
    ubl.basic(node, "InvoicedQuantity", quantity.text(), unitCode=quantity.attribute(".", "unitCode"))
    ubl.amount(node, "LineExtensionAmount", settlement.text(AMOUNT))
    ubl.basic(node, "AccountingCost", settlement.text("ReceivableSpecifiedTradeAccountingAccount/ID"))
    _add_period(ubl, node, settlement.one("BillingSpecifiedPeriod"))
    order = agreement.text("BuyerOrderReferencedDocument/LineID")
    if order:
        ubl.basic(ubl.part(node, "OrderLineReference"), "LineID", order)
    _add_invoiced_object(ubl, node, settlement)
    for allowance in settlement.all("SpecifiedTradeAllowanceCharge"):
        add_allowance(ubl, node, allowance)
    _add_item(ubl, node, line.one("SpecifiedTradeProduct"), settlement)
    _add_price(ubl, node, agreement)


def _notes(line: Cii) -> str:
    return "\n".join(filter(None, (note.text() for note in line.all(f"{LINE}/IncludedNote/Content"))))


def _add_period(ubl: Ubl, node: etree._Element, period: Cii) -> None:
    start, end = period.day("StartDateTime"), period.day("EndDateTime")
    if start or end:
        part = ubl.part(node, "InvoicePeriod")
        ubl.basic(part, "StartDate", start)
        ubl.basic(part, "EndDate", end)


def _add_invoiced_object(ubl: Ubl, node: etree._Element, settlement: Cii) -> None:
    papers = settlement.all("AdditionalReferencedDocument")
    for paper in [paper for paper in papers if paper.text("TypeCode") == INVOICED_OBJECT][:1]:
        part = ubl.part(node, "DocumentReference")
        ubl.basic(part, "ID", paper.text("IssuerAssignedID"), schemeID=paper.text("ReferenceTypeCode"))
        ubl.basic(part, "DocumentTypeCode", INVOICED_OBJECT)


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
    discount = _discount(net, gross)
    if discount:
        part = ubl.part(price, "AllowanceCharge")
        ubl.basic(part, "ChargeIndicator", "false")
        ubl.amount(part, "Amount", discount)
        ubl.amount(part, "BaseAmount", gross.text("ChargeAmount"))


def _discount(net: Cii, gross: Cii) -> str:
    """What comes off the gross price, as it is stated, or zero when nothing does. No discount is made up from two
    prices: a gross price that is not explained may well have tax in it, and UBL has no place for it."""
    if not gross.text("ChargeAmount") or gross.has("IncludedTradeTax") or not _of_one_quantity(net, gross):
        return ""
    stated = gross.all("AppliedTradeAllowanceCharge")
    if len(stated) == 1 and not _is_charge(stated[0]):
        return stated[0].text("ActualAmount")
    off = sum(map(_off, stated), Decimal(0))
    is_explained = Decimal(gross.text("ChargeAmount")) - off == Decimal(net.text("ChargeAmount"))
    return f"{off:f}" if is_explained and off >= 0 else ""


def _of_one_quantity(net: Cii, gross: Cii) -> bool:
    stated = [price.text("BasisQuantity") for price in (net, gross) if price.text("BasisQuantity")]
    return len({Decimal(quantity) for quantity in stated}) <= 1


def _off(change: Cii) -> Decimal:
    amount = Decimal(change.text("ActualAmount"))
    return -amount if _is_charge(change) else amount


def _is_charge(change: Cii) -> bool:
    return change.text("ChargeIndicator/Indicator") in ("true", "1")

"""A small Cross Industry Invoice, valid by its profile's XSD, with room for what a test is about; PDFs to put it in."""

from __future__ import annotations

import io
from collections import defaultdict
from decimal import Decimal

from pypdf import PdfWriter

NORM = "urn:cen.eu:en16931:2017"
EXTENDED = f"{NORM}#conformant#urn:factur-x.eu:1p0:extended"
NAMESPACE = "urn:un:unece:uncefact:data:standard"
RATE = Decimal(20)

INVOICE = """<?xml version="1.0" encoding="UTF-8"?>
<rsm:CrossIndustryInvoice xmlns:rsm="{namespace}:CrossIndustryInvoice:100"
  xmlns:ram="{namespace}:ReusableAggregateBusinessInformationEntity:100"
  xmlns:udt="{namespace}:UnqualifiedDataType:100">
<rsm:ExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter><ram:ID>{guideline}</ram:ID>
</ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext>
<rsm:ExchangedDocument><ram:ID>R-1</ram:ID><ram:TypeCode>{kind}</ram:TypeCode>
<ram:IssueDateTime><udt:DateTimeString format="102">20261116</udt:DateTimeString></ram:IssueDateTime>
</rsm:ExchangedDocument>
<rsm:SupplyChainTradeTransaction>{lines}
<ram:ApplicableHeaderTradeAgreement>
<ram:SellerTradeParty>{seller}<ram:Name>Seller</ram:Name>
<ram:PostalTradeAddress><ram:CountryID>DE</ram:CountryID></ram:PostalTradeAddress>
<ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">DE123456788</ram:ID></ram:SpecifiedTaxRegistration>
</ram:SellerTradeParty>
<ram:BuyerTradeParty>{buyer}<ram:Name>Buyer</ram:Name>
<ram:PostalTradeAddress><ram:CountryID>FR</ram:CountryID></ram:PostalTradeAddress></ram:BuyerTradeParty>{papers}
</ram:ApplicableHeaderTradeAgreement>
<ram:ApplicableHeaderTradeDelivery>{delivery}</ram:ApplicableHeaderTradeDelivery>
<ram:ApplicableHeaderTradeSettlement><ram:InvoiceCurrencyCode>EUR</ram:InvoiceCurrencyCode>{payee}{means}
<ram:ApplicableTradeTax><ram:CalculatedAmount>{tax}</ram:CalculatedAmount><ram:TypeCode>VAT</ram:TypeCode>
<ram:BasisAmount>{net}</ram:BasisAmount><ram:CategoryCode>S</ram:CategoryCode>{tax_point}
<ram:RateApplicablePercent>{rate}</ram:RateApplicablePercent></ram:ApplicableTradeTax>{period}{charges}{terms}
<ram:SpecifiedTradeSettlementHeaderMonetarySummation>
<ram:LineTotalAmount>{line_total}</ram:LineTotalAmount><ram:ChargeTotalAmount>{charge_total}</ram:ChargeTotalAmount>
<ram:TaxBasisTotalAmount>{net}</ram:TaxBasisTotalAmount><ram:TaxTotalAmount currencyID="EUR">{tax}</ram:TaxTotalAmount>
<ram:GrandTotalAmount>{gross}</ram:GrandTotalAmount><ram:DuePayableAmount>{gross}</ram:DuePayableAmount>
</ram:SpecifiedTradeSettlementHeaderMonetarySummation></ram:ApplicableHeaderTradeSettlement>
</rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>"""

LINE = """<ram:IncludedSupplyChainTradeLineItem>
<ram:AssociatedDocumentLineDocument><ram:LineID>{number}</ram:LineID>{status}</ram:AssociatedDocumentLineDocument>
<ram:SpecifiedTradeProduct><ram:Name>{name}</ram:Name></ram:SpecifiedTradeProduct>
<ram:SpecifiedLineTradeAgreement>{gross_price}<ram:NetPriceProductTradePrice><ram:ChargeAmount>{amount}</ram:ChargeAmount>
</ram:NetPriceProductTradePrice></ram:SpecifiedLineTradeAgreement>
<ram:SpecifiedLineTradeDelivery><ram:BilledQuantity unitCode="C62">1</ram:BilledQuantity>
</ram:SpecifiedLineTradeDelivery>
<ram:SpecifiedLineTradeSettlement>{tax}<ram:SpecifiedTradeSettlementLineMonetarySummation>
<ram:LineTotalAmount>{amount}</ram:LineTotalAmount></ram:SpecifiedTradeSettlementLineMonetarySummation>{papers}
</ram:SpecifiedLineTradeSettlement></ram:IncludedSupplyChainTradeLineItem>"""

TAX = (
    "<ram:{tag}><ram:TypeCode>VAT</ram:TypeCode><ram:CategoryCode>S</ram:CategoryCode>"
    "<ram:RateApplicablePercent>20</ram:RateApplicablePercent></ram:{tag}>"
)


def tax(tag: str) -> str:
    return TAX.format(tag=tag)


def a_line(number: str = "1", amount: str = "100.00", name: str = "Thing", **parts: str) -> str:
    filled = {"tax": tax("ApplicableTradeTax"), **parts, "number": number, "amount": amount, "name": name}
    return LINE.format_map(defaultdict(str, filled))


def an_invoice(
    *lines: str, line_total: str = "100.00", charge_total: str = "0.00", kind: str = "380", **parts: str
) -> bytes:
    """Its header adds up by itself, from the totals given; whether the lines agree with them is the test's matter."""
    net = Decimal(line_total) + Decimal(charge_total)
    owed = (net * RATE / 100).quantize(Decimal("0.01"))
    sums = {
        "line_total": line_total,
        "charge_total": charge_total,
        "net": net,
        "tax": owed,
        "gross": net + owed,
    }
    filled = {"guideline": EXTENDED, "namespace": NAMESPACE, "rate": RATE, "kind": kind, **sums, **parts}
    return INVOICE.format_map(defaultdict(str, filled, lines="".join(lines or (a_line(),)))).encode()


def with_attachments(*files: tuple[str, bytes]) -> bytes:
    writer, out = PdfWriter(), io.BytesIO()
    writer.add_blank_page(595, 842)
    for name, content in files:
        writer.add_attachment(name, content)
    writer.write(out)
    return out.getvalue()

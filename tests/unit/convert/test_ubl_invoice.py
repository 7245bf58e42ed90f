"""What only the widest profile of an invoice can say, said in UBL as far as EN 16931 has words for it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from lxml import etree
from tests.unit.convert.samples import mapped
from tests.unit.convert.small_invoice import EXTENDED, NORM, a_line, an_invoice, tax, with_attachments

from quire.convert.domain.xml_mapping import CreditNoteError, EmbeddedInvoiceError, InvoiceWithoutLinesError

XRECHNUNG = f"{NORM}#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0"
PAPER = (
    "<ram:AdditionalReferencedDocument><ram:IssuerAssignedID>{number}</ram:IssuerAssignedID>"
    "<ram:TypeCode>{kind}</ram:TypeCode><ram:ReferenceTypeCode>AAB</ram:ReferenceTypeCode></ram:AdditionalReferencedDocument>"
)
TWO_NUMBERS = '<ram:ID>own-7</ram:ID><ram:GlobalID schemeID="0088">4000001123452</ram:GlobalID>'


def ubl(*lines: str, **parts: str) -> etree._Element:
    pdf = with_attachments(("factur-x.xml", an_invoice(*lines, **parts)))
    return etree.fromstring(mapped("ubl-invoice", pdf))


def texts(root: etree._Element, path: str) -> list[str | None]:
    return [node.text for node in root.findall("/".join(f"{{*}}{step}" for step in path.split("/")))]


def attributes(root: etree._Element, path: str, name: str) -> list[str | None]:
    return [node.get(name) for node in root.findall("/".join(f"{{*}}{step}" for step in path.split("/")))]


def status(code: str, parent: str = "", note: str = "") -> str:
    above = f"<ram:ParentLineID>{parent}</ram:ParentLineID>" if parent else ""
    notes = f"<ram:IncludedNote><ram:Content>{note}</ram:Content></ram:IncludedNote>" if note else ""
    return f"{above}<ram:LineStatusReasonCode>{code}</ram:LineStatusReasonCode>{notes}"


def gross(amount: str, *changes: tuple[str, str]) -> str:
    off = "".join(
        f"<ram:AppliedTradeAllowanceCharge><ram:ChargeIndicator><udt:Indicator>{is_charge}</udt:Indicator>"
        f"</ram:ChargeIndicator><ram:ActualAmount>{change}</ram:ActualAmount></ram:AppliedTradeAllowanceCharge>"
        for is_charge, change in changes
    )
    price = f"<ram:ChargeAmount>{amount}</ram:ChargeAmount>{off}"
    return f"<ram:GrossPriceProductTradePrice>{price}</ram:GrossPriceProductTradePrice>"


def test_a_buyer_has_one_identifier_and_that_of_a_register_wins() -> None:
    root = ubl(buyer=TWO_NUMBERS, seller=TWO_NUMBERS)
    buyer = "AccountingCustomerParty/Party/PartyIdentification/ID"
    assert texts(root, buyer) == ["4000001123452"]
    assert attributes(root, buyer, "schemeID") == ["0088"]
    seller = "AccountingSupplierParty/Party/PartyIdentification/ID"
    assert texts(root, seller) == ["4000001123452", "own-7"]
    assert attributes(root, seller, "schemeID") == ["0088", None]


def test_a_payee_has_one_identifier_too() -> None:
    payee = f"<ram:PayeeTradeParty>{TWO_NUMBERS}<ram:Name>Bank</ram:Name></ram:PayeeTradeParty>"
    assert texts(ubl(payee=payee), "PayeeParty/PartyIdentification/ID") == ["4000001123452"]


def test_an_identifier_that_is_empty_is_none() -> None:
    root = ubl(buyer="<ram:ID></ram:ID>")
    assert texts(root, "AccountingCustomerParty/Party/PartyIdentification") == []


def test_the_place_of_delivery_is_known_by_its_register() -> None:
    delivery = f"<ram:ShipToTradeParty>{TWO_NUMBERS}</ram:ShipToTradeParty>"
    root = ubl(delivery=delivery)
    assert texts(root, "Delivery/DeliveryLocation/ID") == ["4000001123452"]
    assert attributes(root, "Delivery/DeliveryLocation/ID", "schemeID") == ["0088"]


def test_only_lines_that_count_are_lines_and_the_others_are_told_as_notes() -> None:
    root = ubl(
        a_line("1", "100.00", "Hardware", status=status("GROUP", note="Two things")),
        a_line("1.1", "60.00", "Printer", status=status("DETAIL", "1")),
        a_line("1.2", "40.00", "Paper", status=status("DETAIL", "1")),
        a_line("1.2.1", "40.00", "Sheet", status=status("INFORMATION", "1.2"), tax=""),
    )
    assert texts(root, "InvoiceLine/ID") == ["1.1", "1.2"]
    assert sum(map(Decimal, texts(root, "InvoiceLine/LineExtensionAmount"))) == Decimal("100.00")
    assert texts(root, "Note") == [
        "1: Hardware; Two things; 1 C62; 100.00 EUR",
        "1.2.1: Sheet; 1 C62; 40.00 EUR",
    ]
    assert texts(root, "CustomizationID") == [NORM]


def test_an_invoice_of_nothing_but_subtotals_has_no_lines() -> None:
    with pytest.raises(InvoiceWithoutLinesError):
        ubl(a_line(status=status("GROUP")))


def test_freight_is_a_charge_with_its_tax() -> None:
    freight = (
        "<ram:SpecifiedLogisticsServiceCharge><ram:Description>Freight</ram:Description>"
        f"<ram:AppliedAmount>5.00</ram:AppliedAmount>{tax('AppliedTradeTax')}</ram:SpecifiedLogisticsServiceCharge>"
    )
    root = ubl(charges=freight, charge_total="5.00")
    assert texts(root, "AllowanceCharge/ChargeIndicator") == ["true"]
    assert texts(root, "AllowanceCharge/AllowanceChargeReason") == ["Freight"]
    assert (
        texts(root, "AllowanceCharge/Amount")
        == texts(root, "LegalMonetaryTotal/ChargeTotalAmount")
        == ["5.00"]
    )
    assert texts(root, "AllowanceCharge/TaxCategory/Percent") == ["20"]
    assert texts(root, "CustomizationID") == [NORM]


@pytest.mark.parametrize(("theirs", "ours"), [("5", "3"), ("29", "35"), ("72", "432")])
def test_when_tax_falls_due_has_other_codes_in_ubl(theirs: str, ours: str) -> None:
    root = ubl(tax_point=f"<ram:DueDateTypeCode>{theirs}</ram:DueDateTypeCode>")
    assert texts(root, "InvoicePeriod/DescriptionCode") == [ours]


def test_when_tax_falls_due_is_a_day_or_a_code_and_not_both() -> None:
    day = '<ram:TaxPointDate><udt:DateString format="102">20261101</udt:DateString></ram:TaxPointDate>'
    root = ubl(tax_point=f"{day}<ram:DueDateTypeCode>5</ram:DueDateTypeCode>")
    assert texts(root, "TaxPointDate") == ["2026-11-01"]
    assert texts(root, "InvoicePeriod/DescriptionCode") == []


def test_a_line_names_the_object_it_is_about() -> None:
    papers = "".join(PAPER.format(number=number, kind="130") for number in ("meter-1", "meter-2"))
    root = ubl(a_line(papers=papers))
    assert texts(root, "InvoiceLine/DocumentReference/ID") == ["meter-1"]
    assert attributes(root, "InvoiceLine/DocumentReference/ID", "schemeID") == ["AAB"]
    assert texts(root, "InvoiceLine/DocumentReference/DocumentTypeCode") == ["130"]


def test_an_invoice_is_about_one_object_and_what_else_it_names_supports_it() -> None:
    kinds = {"meter-1": "130", "meter-2": "130", "sheet": "916", "slip": "270", "tender": "50"}
    root = ubl(papers="".join(PAPER.format(number=number, kind=kind) for number, kind in kinds.items()))
    assert texts(root, "AdditionalDocumentReference/ID") == ["meter-1", "meter-2", "sheet", "slip"]
    assert attributes(root, "AdditionalDocumentReference/ID", "schemeID") == ["AAB", None, None, None]
    assert texts(root, "AdditionalDocumentReference/DocumentTypeCode") == ["130"]
    assert texts(root, "OriginatorDocumentReference/ID") == ["tender"]


@pytest.mark.parametrize(
    ("price", "discount"),
    [
        (gross("110.00", ("false", "10.00")), ["10.00"]),
        (gross("110.00"), []),
        (gross("100.00"), ["0"]),
        (gross("120.00", ("false", "15.00"), ("false", "5.00")), ["20.00"]),
        (gross("90.00", ("true", "10.00")), []),
    ],
)
def test_a_gross_price_stands_beside_what_comes_off_it(price: str, discount: list[str]) -> None:
    root = ubl(a_line(gross_price=price))
    assert texts(root, "InvoiceLine/Price/AllowanceCharge/Amount") == discount
    stated = etree.fromstring(price.replace("ram:", "").replace("udt:", "")).findtext("ChargeAmount")
    assert texts(root, "InvoiceLine/Price/AllowanceCharge/BaseAmount") == ([stated] if discount else [])


def test_a_gross_price_for_another_quantity_has_no_place() -> None:
    of_ten = gross("1100.00").replace(
        "</ram:ChargeAmount>", "</ram:ChargeAmount><ram:BasisQuantity>10</ram:BasisQuantity>"
    )
    line = a_line(gross_price=of_ten)
    head, _, tail = line.rpartition("</ram:ChargeAmount>")
    root = ubl(f"{head}</ram:ChargeAmount><ram:BasisQuantity>1</ram:BasisQuantity>{tail}")
    assert texts(root, "InvoiceLine/Price/BaseQuantity") == ["1"]
    assert texts(root, "InvoiceLine/Price/AllowanceCharge") == []


def test_terms_of_payment_are_joined_and_the_first_day_counts() -> None:
    day = (
        '<ram:DueDateDateTime><udt:DateTimeString format="102">{}</udt:DateTimeString></ram:DueDateDateTime>'
    )
    terms = (
        "<ram:Description>2 % in a week</ram:Description>",
        "<ram:Description>Net in a month</ram:Description>",
    )
    wrapped = (
        terms[0],
        terms[1] + day.format("20261216"),
        day.format("20270116"),
    )
    every = "".join(
        f"<ram:SpecifiedTradePaymentTerms>{term}</ram:SpecifiedTradePaymentTerms>" for term in wrapped
    )
    root = ubl(terms=every)
    assert texts(root, "PaymentTerms/Note") == ["2 % in a week\nNet in a month"]
    assert texts(root, "DueDate") == ["2026-12-16"]


def test_of_several_ways_to_pay_one_has_the_mandate_and_the_name() -> None:
    way = (
        "<ram:SpecifiedTradeSettlementPaymentMeans><ram:TypeCode>59</ram:TypeCode><ram:Information>Debit</ram:Information>"
        "{}</ram:SpecifiedTradeSettlementPaymentMeans>"
    )
    payer = "<ram:PayerPartyDebtorFinancialAccount><ram:IBANID>DE02</ram:IBANID></ram:PayerPartyDebtorFinancialAccount>"
    mandate = "<ram:DirectDebitMandateID>M-1</ram:DirectDebitMandateID>"
    root = ubl(
        means=way.format("") + way.format(payer),
        terms=f"<ram:SpecifiedTradePaymentTerms>{mandate}</ram:SpecifiedTradePaymentTerms>",
    )
    assert attributes(root, "PaymentMeans/PaymentMeansCode", "name") == ["Debit", None]
    assert texts(root, "PaymentMeans/PaymentMandate/ID") == ["M-1"]
    assert texts(root, "PaymentMeans/PaymentMandate/PayerFinancialAccount/ID") == ["DE02"]


@pytest.mark.parametrize(
    "lines",
    [
        (a_line("1", "60.00"), a_line("2", "60.00")),
        (a_line("1", "60.00"), a_line("2", "40.00", tax="")),
        (a_line("1", "60.00"), a_line("2", "40.00", tax=tax("ApplicableTradeTax") * 2)),
        (a_line("1", "60.00"), a_line("2", "40.00", tax=tax("ApplicableTradeTax").replace("20<", "7<"))),
    ],
)
def test_an_extended_invoice_that_is_not_by_the_norm_does_not_say_that_it_is(lines: tuple[str, ...]) -> None:
    assert texts(ubl(*lines), "CustomizationID") == [EXTENDED]


@pytest.mark.parametrize("guideline", [NORM, XRECHNUNG, f"{NORM}#compliant#urn:factur-x.eu:1p0:basic"])
def test_an_invoice_that_names_the_norm_and_does_not_add_up_is_refused(guideline: str) -> None:
    right, wrong = a_line("1", "100.00"), a_line("1", "99.99")
    said = NORM if "factur-x" in guideline else guideline
    assert texts(ubl(right, guideline=guideline), "CustomizationID") == [said]
    with pytest.raises(EmbeddedInvoiceError) as refusal:
        ubl(wrong, guideline=guideline)
    assert "100.00 is stated, the parts come to 99.99 (BR-CO-10)" in refusal.value.detail


@pytest.mark.parametrize("amount", ["9" * 40, f"1{'0' * 26}.55"])
def test_an_amount_longer_than_any_sum_is_refused_like_another_wrong_one(amount: str) -> None:
    with pytest.raises(EmbeddedInvoiceError, match="BR-CO-10"):
        ubl(a_line(amount=amount), guideline=NORM)


def test_each_sum_of_the_header_is_held_against_its_parts() -> None:
    sound = an_invoice(guideline=NORM)
    for rule, stated, wrong in (
        ("BR-CO-12", "<ram:ChargeTotalAmount>0.00", "<ram:ChargeTotalAmount>1.00"),
        ("BR-CO-13", "<ram:TaxBasisTotalAmount>100.00", "<ram:TaxBasisTotalAmount>101.00"),
        ("BR-CO-14", "<ram:CalculatedAmount>20.00", "<ram:CalculatedAmount>21.00"),
        ("BR-CO-15", "<ram:GrandTotalAmount>120.00", "<ram:GrandTotalAmount>121.00"),
        ("BR-CO-16", "<ram:DuePayableAmount>120.00", "<ram:DuePayableAmount>121.00"),
        ("BR-S-08", "<ram:BasisAmount>100.00", "<ram:BasisAmount>101.00"),
    ):
        broken = sound.replace(stated.encode(), wrong.encode())
        assert broken != sound
        with pytest.raises(EmbeddedInvoiceError, match=rule):
            mapped("ubl-invoice", with_attachments(("factur-x.xml", broken)))


def test_a_credit_note_is_no_ubl_invoice() -> None:
    pdf = with_attachments(("factur-x.xml", an_invoice(kind="381")))
    assert b"<ram:TypeCode>381" in mapped("facturx", pdf)
    with pytest.raises(CreditNoteError, match=r"type is 381, .* the mapping facturx gives it"):
        mapped("ubl-invoice", pdf)

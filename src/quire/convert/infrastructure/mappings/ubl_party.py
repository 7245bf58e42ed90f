"""Who sells, buys, is paid and receives."""

from __future__ import annotations

from lxml import etree

from quire.convert.infrastructure.mappings.cii_reader import Cii
from quire.convert.infrastructure.mappings.ubl_writer import Ubl

# The number of the tax itself, and the local number of whoever owes it.
TAX_SCHEMES = {"VA": "VAT", "FC": "TAX"}
SEPA = "SEPA"


def add_party(
    ubl: Ubl, name: str, party: Cii, settlement: Cii | None = None, *, is_wrapped: bool = True
) -> None:
    """`settlement` brings the creditor's number of direct debits, which UBL counts among the seller's."""
    node = ubl.part(ubl.root, name)
    if is_wrapped:
        node = ubl.part(node, "Party")
    address = party.one("URIUniversalCommunication/URIID")
    if is_wrapped:
        ubl.basic(node, "EndpointID", address.text(), schemeID=address.attribute(".", "schemeID"))
    # The norm has many identifiers of a seller, and of anyone else one.
    _identify(ubl, node, _numbers(party) if settlement else _numbers(party)[:1])
    creditor = settlement.text("CreditorReferenceID") if settlement else ""
    if creditor:
        ubl.basic(ubl.part(node, "PartyIdentification"), "ID", creditor, schemeID=SEPA)
    trading = party.text("SpecifiedLegalOrganization/TradingBusinessName")
    shown = trading if is_wrapped else party.text("Name")
    if shown:
        ubl.basic(ubl.part(node, "PartyName"), "Name", shown)
    if is_wrapped:
        add_address(ubl, node, "PostalAddress", party.one("PostalTradeAddress"))
        _add_tax_numbers(ubl, node, party)
    _add_legal_entity(ubl, node, party, is_wrapped)
    if is_wrapped:
        _add_contact(ubl, node, party)


def add_tax_representative(ubl: Ubl, party: Cii) -> None:
    node = ubl.part(ubl.root, "TaxRepresentativeParty")
    ubl.basic(ubl.part(node, "PartyName"), "Name", party.text("Name"))
    add_address(ubl, node, "PostalAddress", party.one("PostalTradeAddress"))
    _add_tax_numbers(ubl, node, party)


def add_delivery(ubl: Ubl, delivery: Cii) -> None:
    day = delivery.day("ActualDeliverySupplyChainEvent/OccurrenceDateTime")
    receiver = delivery.one("ShipToTradeParty")
    if not day and not delivery.has("ShipToTradeParty"):
        return
    node = ubl.part(ubl.root, "Delivery")
    ubl.basic(node, "ActualDeliveryDate", day)
    numbers = _numbers(receiver)
    if receiver.has("PostalTradeAddress") or numbers:
        place = ubl.part(node, "DeliveryLocation")
        for number in numbers[:1]:
            ubl.basic(place, "ID", number.text(), schemeID=number.attribute(".", "schemeID"))
        add_address(ubl, place, "Address", receiver.one("PostalTradeAddress"))
    if receiver.text("Name"):
        ubl.basic(ubl.part(ubl.part(node, "DeliveryParty"), "PartyName"), "Name", receiver.text("Name"))


def add_address(ubl: Ubl, parent: etree._Element, name: str, address: Cii) -> None:
    if not address.text("CountryID") and not address.text("CityName") and not address.text("LineOne"):
        return
    node = ubl.part(parent, name)
    ubl.basic(node, "StreetName", address.text("LineOne"))
    ubl.basic(node, "AdditionalStreetName", address.text("LineTwo"))
    ubl.basic(node, "CityName", address.text("CityName"))
    ubl.basic(node, "PostalZone", address.text("PostcodeCode"))
    ubl.basic(node, "CountrySubentity", address.text("CountrySubDivisionName"))
    if address.text("LineThree"):
        ubl.basic(ubl.part(node, "AddressLine"), "Line", address.text("LineThree"))
    if address.text("CountryID"):
        ubl.basic(ubl.part(node, "Country"), "IdentificationCode", address.text("CountryID"))


def _numbers(party: Cii) -> list[Cii]:
    """Those of a known register come first, so that they win where there is one place."""
    return [number for number in [*party.all("GlobalID"), *party.all("ID")] if number.text()]


def _identify(ubl: Ubl, node: etree._Element, numbers: list[Cii]) -> None:
    for number in numbers:
        ubl.basic(
            ubl.part(node, "PartyIdentification"),
            "ID",
            number.text(),
            schemeID=number.attribute(".", "schemeID"),
        )


def _add_tax_numbers(ubl: Ubl, node: etree._Element, party: Cii) -> None:
    for registration in party.all("SpecifiedTaxRegistration"):
        scheme = TAX_SCHEMES.get(registration.attribute("ID", "schemeID"), "VAT")
        tax = ubl.part(node, "PartyTaxScheme")
        ubl.basic(tax, "CompanyID", registration.text("ID"))
        ubl.basic(ubl.part(tax, "TaxScheme"), "ID", scheme)


def _add_legal_entity(ubl: Ubl, node: etree._Element, party: Cii, is_named: bool) -> None:
    number = party.one("SpecifiedLegalOrganization/ID")
    name = party.text("Name") if is_named else ""
    if not (name or number.text()):
        return
    entity = ubl.part(node, "PartyLegalEntity")
    ubl.basic(entity, "RegistrationName", name)
    ubl.basic(entity, "CompanyID", number.text(), schemeID=number.attribute(".", "schemeID"))
    ubl.basic(entity, "CompanyLegalForm", party.text("Description"))


def _add_contact(ubl: Ubl, node: etree._Element, party: Cii) -> None:
    contact = party.one("DefinedTradeContact")
    name = contact.text("PersonName") or contact.text("DepartmentName")
    phone = contact.text("TelephoneUniversalCommunication/CompleteNumber")
    mail = contact.text("EmailURIUniversalCommunication/URIID")
    if name or phone or mail:
        node = ubl.part(node, "Contact")
        ubl.basic(node, "Name", name)
        ubl.basic(node, "Telephone", phone)
        ubl.basic(node, "ElectronicMail", mail)

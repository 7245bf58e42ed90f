"""Seller, buyer and place of delivery in a Cross Industry Invoice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quire.render.infrastructure.facturx.invoice_rules import compact
from quire.render.infrastructure.facturx.xml_writer import Node, node

Data = Mapping[str, Any]
ADDRESS_LINES = ("LineOne", "LineTwo", "LineThree")


def party(tag: str, data: Data, person: Node, endpoint: Data | None, *, whole: bool) -> Node:
    """`whole`: the profile knows addresses beyond the country; without it a buyer has no address at all."""
    seller = tag.startswith("Seller")
    shown = address(data["address"], whole=whole) if whole or seller else None
    return node(
        tag,
        node("Name", data["name"]),
        node("SpecifiedLegalOrganization", node("ID", data.get("registration", ""))),
        person,
        shown,
        _endpoint(endpoint or _mailbox(data)) if whole else None,
        _registration("VA", data.get("vat_id", "")) if whole or seller else None,
        _registration("FC", data.get("tax_number", "")) if seller else None,
    )


def address(data: Data, *, whole: bool = True) -> Node:
    if not whole:
        return node("PostalTradeAddress", node("CountryID", data.get("country_code", "")))
    first, rest = data.get("lines", ())[:2], data.get("lines", ())[2:]
    lines = [*first, ", ".join(rest)]
    return node(
        "PostalTradeAddress",
        node("PostcodeCode", data.get("postal_code", "")),
        [node(tag, line) for tag, line in zip(ADDRESS_LINES, lines, strict=False)],
        node("CityName", data["city"]),
        node("CountryID", data.get("country_code", "")),
        node("CountrySubDivisionName", data.get("region", "")),
    )


def contact(data: Data) -> Node:
    phone = node("CompleteNumber", data.get("phone", ""))
    mail = node("URIID", data.get("email", ""))
    return node(
        "DefinedTradeContact",
        node("PersonName", data.get("contact_name", "")),
        node("TelephoneUniversalCommunication", phone),
        node("EmailURIUniversalCommunication", mail),
    )


def ship_to(data: Data | None) -> Node:
    if not data:
        return None
    return node("ShipToTradeParty", node("Name", data["name"]), address(data["address"]))


def _mailbox(data: Data) -> Data | None:
    """EAS scheme EM: an electronic mail address."""
    return {"scheme": "EM", "value": data["email"]} if data.get("email") else None


def _endpoint(data: Data | None) -> Node:
    if not data:
        return None
    return node("URIUniversalCommunication", node("URIID", data["value"], schemeID=data["scheme"]))


def _registration(scheme: str, value: str) -> Node:
    return node("SpecifiedTaxRegistration", node("ID", compact(value), schemeID=scheme))

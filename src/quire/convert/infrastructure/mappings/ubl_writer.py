"""A UBL invoice as it grows: aggregates and basic components, amounts in the invoice's currency."""

from __future__ import annotations

from lxml import etree

from quire.convert.infrastructure.mappings.xml_tree import clean

INVOICE = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"
AGGREGATE = "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
BASIC = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"


class Ubl:
    def __init__(self, currency: str) -> None:
        self.currency = currency
        # lxml's types know no namespace without a prefix.
        names: dict[str, str] = {None: INVOICE, "cac": AGGREGATE, "cbc": BASIC}  # type: ignore[dict-item]
        self.root = etree.Element(f"{{{INVOICE}}}Invoice", nsmap=names)

    def part(self, parent: etree._Element, name: str) -> etree._Element:
        return etree.SubElement(parent, f"{{{AGGREGATE}}}{name}")

    def basic(self, parent: etree._Element, tag: str, text: str, **attributes: str) -> None:
        """Nothing for nothing: UBL has no empty elements."""
        if text:
            stated = {key: value for key, value in attributes.items() if value}
            etree.SubElement(parent, f"{{{BASIC}}}{tag}", stated).text = clean(text)

    def customize(self, guideline: str) -> None:
        """Said last and written first: what it may be depends on all the rest."""
        if guideline:
            node = etree.Element(f"{{{BASIC}}}CustomizationID")
            node.text = clean(guideline)
            self.root.insert(0, node)

    def amount(self, parent: etree._Element, name: str, text: str, currency: str = "") -> None:
        self.basic(parent, name, text, currencyID=currency or self.currency)

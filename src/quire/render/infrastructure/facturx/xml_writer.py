"""Elements of Cross Industry Invoice documents. What has no content does not exist: empty blocks need no conditions."""

from __future__ import annotations

from collections.abc import Iterable

from lxml import etree

NAMESPACES = {
    "rsm": "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
    "ram": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
    "udt": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100",
    "qdt": "urn:un:unece:uncefact:data:standard:QualifiedDataType:100",
}
Node = etree._Element | None
Content = Node | str | Iterable[Node]


def node(tag: str, *content: Content, **attributes: str) -> Node:
    """`ram` is meant where no prefix is given. None when nothing is left inside."""
    element = empty_node(tag, **attributes)
    for part in content:
        _add(element, part)
    return element if len(element) or element.text else None


def empty_node(tag: str, **attributes: str) -> etree._Element:
    prefix, _, name = tag.rpartition(":")
    return etree.Element(f"{{{NAMESPACES[prefix or 'ram']}}}{name}", attributes, nsmap=NAMESPACES)


def _add(element: etree._Element, part: Content) -> None:
    if isinstance(part, str):
        element.text = part or None
    elif isinstance(part, etree._Element):
        element.append(part)
    elif part is not None:
        element.extend([child for child in part if child is not None])


def day_node(tag: str, day: str | None, unit: str = "udt:DateTimeString") -> Node:
    """Format 102 is YYYYMMDD."""
    return node(tag, node(unit, day.replace("-", ""), format="102")) if day else None


def serialised(root: etree._Element) -> bytes:
    etree.cleanup_namespaces(root, keep_ns_prefixes=list(NAMESPACES))
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True))

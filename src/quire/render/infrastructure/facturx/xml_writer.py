"""Elements of Cross Industry Invoice documents, as text: parsed and checked against the XSD as a whole afterwards.
What has no content does not exist: empty blocks need no conditions."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

NAMESPACES = {
    "rsm": "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
    "ram": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
    "udt": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100",
    "qdt": "urn:un:unece:uncefact:data:standard:QualifiedDataType:100",
}
DECLARED = {f"xmlns:{prefix}": name for prefix, name in NAMESPACES.items()}
HEAD = "<?xml version='1.0' encoding='UTF-8'?>\n"
# A reader would turn it into a line feed.
KEPT = {"\r": "&#13;"}


class Element(str):
    """Finished markup; every other text is escaped."""

    __slots__ = ()


Node = Element | None
Content = Node | str | Iterable[Node]


def node(tag: str, *content: Content, **attributes: str) -> Node:
    """`ram` is meant where no prefix is given. None when nothing is left inside."""
    inside = "".join(map(_markup, content))
    if not inside:
        return None
    name = _name(tag)
    return Element(f"<{name}{_given(attributes)}>{inside}</{name}>")


def empty_node(tag: str) -> Element:
    return Element(f"<{_name(tag)}/>")


def _name(tag: str) -> str:
    return tag if ":" in tag else f"ram:{tag}"


def _given(attributes: dict[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value, KEPT)}" for name, value in attributes.items())


def _markup(part: Content) -> str:
    if isinstance(part, Element):
        return part
    if isinstance(part, str):
        return escape(part, KEPT)
    return "".join(child for child in part if child is not None) if part is not None else ""


def day_node(tag: str, day: str | None, unit: str = "udt:DateTimeString") -> Node:
    """Format 102 is YYYYMMDD."""
    return node(tag, node(unit, day.replace("-", ""), format="102")) if day else None


def serialised(root: Element) -> bytes:
    return (HEAD + root).encode()

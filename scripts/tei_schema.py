"""Cuts the published TEI P5 schema down to the elements that the `tei` mapping writes.

scripts/tei_schema.py            write schemas/tei/tei-subset.rng from schemas/tei/tei_all.rng.gz beside it

The whole schema takes ten seconds to load. Nothing is added or loosened: elements are forbidden, so what is valid by
the subset is valid by the whole, which a test holds against it.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from lxml import etree

HOME = Path(__file__).resolve().parents[1] / "src/quire/convert/infrastructure/mappings/schemas/tei"
RNG = "http://relaxng.org/ns/structure/1.0"
KEPT = frozenset(
    [
        "TEI",
        "teiHeader",
        "fileDesc",
        "titleStmt",
        "title",
        "publicationStmt",
        "publisher",
        "availability",
        "licence",
        "sourceDesc",
        "bibl",
        "encodingDesc",
        "appInfo",
        "application",
        "label",
        "ptr",
        "desc",
        "profileDesc",
        "langUsage",
        "language",
        "extent",
        "measure",
        "text",
        "front",
        "body",
        "back",
        "div",
        "head",
        "p",
        "list",
        "item",
        "pb",
        "fw",
        "lb",
        "hi",
        "note",
        "table",
        "row",
        "cell",
    ]
)
FORBIDDEN, NOTHING = "notAllowed", "empty"


def tag(name: str) -> str:
    return f"{{{RNG}}}{name}"


def strip_annotations(grammar: etree._Element) -> None:
    for node in list(grammar.iter()):
        if not isinstance(node.tag, str) or not node.tag.startswith(f"{{{RNG}}}"):
            parent = node.getparent()
            if parent is not None and not (isinstance(node.tag, str) is False and parent is grammar):
                parent.remove(node)


def simplified(node: etree._Element, forbidden: set[str]) -> etree._Element:
    """The same pattern without what is forbidden; `notAllowed` itself when nothing remains possible."""
    kind = etree.QName(node).localname
    if kind == "ref" and node.get("name") in forbidden:
        return etree.Element(tag(FORBIDDEN))
    children = [simplified(child, forbidden) for child in node if isinstance(child.tag, str)]
    names = [etree.QName(child).localname for child in children]
    if kind in ("choice", "start"):
        children = [child for child, name in zip(children, names, strict=True) if name != FORBIDDEN]
        if not children:
            return etree.Element(tag(FORBIDDEN))
    elif FORBIDDEN in names:
        return etree.Element(tag(NOTHING if kind in ("zeroOrMore", "optional") else FORBIDDEN))
    if kind in ("group", "element", "define", "interleave", "attribute"):
        # libxml2 stumbles over an `empty` between others.
        full = [child for child in children if etree.QName(child).localname != NOTHING]
        children = full or children[:1]
    copy = etree.Element(node.tag, dict(node.attrib))
    copy.text = node.text
    copy.extend(children)
    return copy


def forbidden_names(defines: dict[str, etree._Element]) -> set[str]:
    found = {name for name, define in defines.items() if not _may_stay(define)}
    while True:
        more = {
            name
            for name, define in defines.items()
            if name not in found
            and len(define)
            and etree.QName(simplified(define, found)).localname == FORBIDDEN
        }
        if not more:
            return found
        found |= more


def _may_stay(define: etree._Element) -> bool:
    element = define.find(tag("element"))
    return element is None or element.get("name") in KEPT


def reachable(start: etree._Element, defines: dict[str, etree._Element]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        for ref in todo.pop().iter(tag("ref")):
            name = ref.get("name", "")
            if name not in seen:
                seen.add(name)
                todo.append(defines[name])
    return seen


def subset(source: bytes) -> bytes:
    parser = etree.XMLParser(remove_blank_text=True, remove_pis=True)
    grammar = etree.fromstring(source, parser)
    notices = [node.text for node in grammar if node.tag is etree.Comment]
    strip_annotations(grammar)
    defines = {define.get("name", ""): define for define in grammar.findall(tag("define"))}
    forbidden = forbidden_names(defines)
    start = simplified(grammar.find(tag("start")), forbidden)
    kept = {name: simplified(d, forbidden) for name, d in defines.items() if name not in forbidden}
    small = etree.Element(grammar.tag, dict(grammar.attrib), nsmap=grammar.nsmap)
    for notice in notices:
        small.append(etree.Comment(notice))
    small.append(etree.Comment(" Cut down by scripts/tei_schema.py; see README.md. "))
    small.append(start)
    wanted = reachable(start, kept)
    small.extend(define for name, define in kept.items() if name in wanted)
    return etree.tostring(small, xml_declaration=True, encoding="UTF-8", pretty_print=True)


def main() -> None:
    source = gzip.decompress((HOME / "tei_all.rng.gz").read_bytes())
    (HOME / "tei-subset.rng").write_bytes(subset(source))


if __name__ == "__main__":
    main()

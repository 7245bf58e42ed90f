"""`tei`: TEI P5. Headings make divisions, numbered and bulleted paragraphs make lists, pages leave their breaks, and
running titles and page numbers stand in `fw`, where TEI keeps what belongs to the paper."""

from __future__ import annotations

from lxml import etree

from quire.convert.domain.language import language_of
from quire.convert.domain.mapping_list import DESCRIPTIONS
from quire.convert.domain.xml_mapping import XmlMapping
from quire.convert.infrastructure.mappings.mapping import Mapping, Source
from quire.convert.infrastructure.mappings.schema import Schema
from quire.convert.infrastructure.mappings.xml_tree import Tree, clean, serialized
from quire.reading import Document, Kind, Passage, flow_of

NAMESPACE = "http://www.tei-c.org/ns/1.0"
VERSION = "6"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
TEI = Tree(NAMESPACE)
FORMS = {"top": "header", "bottom": "footer"}
# What each is called as a list.
LISTS = {Kind.ITEM: "", Kind.ENTRY: "contents"}


def write(source: Source) -> bytes:
    document = source.document
    flow = flow_of(document)
    root = TEI.root("TEI")
    said = [passage.text for passage in flow if passage.kind is not Kind.RUNNING]
    if language := language_of(document.language, " ".join(said[:200])):
        root.set(XML_LANG, language)
    _header(root, document, _title(document, flow))
    body = TEI.add(TEI.add(root, "text"), "body")
    Writer(body, document).write(flow)
    return serialized(root)


def _title(document: Document, flow: list[Passage]) -> str:
    headings = [passage for passage in flow if passage.kind is Kind.HEADING]
    first = min(headings, key=lambda passage: (passage.level, passage.page), default=None)
    return document.title or (first.text if first else "Untitled")


def _header(root: etree._Element, document: Document, title: str) -> None:
    header = TEI.add(root, "teiHeader")
    file = TEI.add(header, "fileDesc")
    TEI.add(TEI.add(file, "titleStmt"), "title", title)
    TEI.add(TEI.add(file, "extent"), "measure", unit="page", quantity=str(len(document.pages)))
    TEI.add(TEI.add(file, "publicationStmt"), "p", "Converted from PDF; not published.")
    bibl = TEI.add(TEI.add(file, "sourceDesc"), "bibl", "A PDF of this title")
    if document.producer:
        TEI.add(bibl, "note", f"made by {document.producer}")
    software = TEI.add(TEI.add(header, "encodingDesc"), "appInfo")
    application = TEI.add(software, "application", ident="quire-gateway-tei", version=VERSION)
    TEI.add(application, "label", "Quire gateway, mapping tei")


class Writer:
    """Keeps the division that text goes into, for each level of headings, and the list that is open."""

    def __init__(self, body: etree._Element, document: Document) -> None:
        self._open: list[tuple[int, etree._Element]] = [(0, body)]
        self._list: etree._Element | None = None
        self._pages = [page.number for page in document.pages]

    def write(self, flow: list[Passage]) -> None:
        for passage in flow:
            self._turn_pages(passage.page)
            self._place(passage)
        self._turn_pages(self._pages[-1] if self._pages else 0)
        if not len(self._open[0][1]) or all(child.tag.endswith("}pb") for child in self._open[0][1]):
            TEI.add(self._open[0][1], "p")

    @property
    def _here(self) -> etree._Element:
        return self._open[-1][1]

    def _turn_pages(self, page: int) -> None:
        while self._pages and self._pages[0] <= page:
            # Inside a list a break belongs before its next item, and TEI takes it there.
            TEI.add(self._here if self._list is None else self._list, "pb", n=str(self._pages.pop(0)))

    def _place(self, passage: Passage) -> None:
        if passage.kind is Kind.RUNNING:
            place = self._here if self._list is None else self._list
            TEI.add(
                place,
                "fw",
                passage.text,
                type=FORMS.get(passage.place, "stamp"),
                place=passage.place,
            )
        elif passage.kind in LISTS:
            if self._list is None or self._list.get("type", "") != LISTS[passage.kind]:
                self._list = self._begin_list(LISTS[passage.kind])
            if passage.label:
                TEI.add(self._list, "label", passage.label)
            self._fill(TEI.add(self._list, "item"), passage)
        else:
            self._list = None
            if passage.kind is Kind.HEADING:
                self._begin_division(passage)
            else:
                self._fill(TEI.add(self._here, "p"), passage)

    def _begin_list(self, kind: str) -> etree._Element:
        return TEI.add(self._here, "list", **({"type": kind} if kind else {}))

    def _fill(self, element: etree._Element, passage: Passage) -> None:
        """The text, with a break where the next page begins in it."""
        begin = 0
        for turn in passage.turns:
            _append(element, passage.text[begin : turn.offset])
            begin = turn.offset
            within = {} if passage.text[begin - 1].isspace() else {"break": "no"}
            while self._pages and self._pages[0] <= turn.page:
                TEI.add(element, "pb", n=str(self._pages.pop(0)), **within)
        _append(element, passage.text[begin:])

    def _begin_division(self, heading: Passage) -> None:
        while self._open[-1][0] >= heading.level:
            self._open.pop()
        division = TEI.add(self._here, "div")
        self._open.append((heading.level, division))
        TEI.add(division, "head", heading.text)


def _append(element: etree._Element, text: str) -> None:
    if len(element):
        element[-1].tail = (element[-1].tail or "") + clean(text)
    else:
        element.text = (element.text or "") + clean(text)


MAPPING = Mapping(
    XmlMapping(
        name="tei",
        version=VERSION,
        description=DESCRIPTIONS["tei"],
        schema="TEI P5 4.3.0",
        namespace=NAMESPACE,
    ),
    write,
    Schema("tei/tei-subset.rng"),
)

"""`akn`: Akoma Ntoso 3. Parts, chapters, articles, sections and numbered paragraphs with their numbers, headings and
identifiers; what comes before the first of them is the preface. Of a text without any, that is the title alone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from lxml import etree

from quire.convert.domain.document_kind import kind_of
from quire.convert.domain.legal_numbering import container_of
from quire.convert.domain.legal_outline import Outline, Provision, Recitals, outline_of
from quire.convert.domain.mapping_list import DESCRIPTIONS
from quire.convert.domain.xml_mapping import XmlMapping
from quire.convert.infrastructure.mappings.akn_meta import AKN, NAMESPACE, add_meta
from quire.convert.infrastructure.mappings.mapping import Mapping, Source
from quire.convert.infrastructure.mappings.schema import Schema
from quire.convert.infrastructure.mappings.xml_tree import serialized
from quire.reading import Document, Kind, Passage, flow_of

# As the naming convention of Akoma Ntoso shortens them.
SHORT = {"article": "art", "chapter": "chp", "section": "sec", "paragraph": "para", "subparagraph": "subpara",
         "subchapter": "subchp"}  # fmt: skip
# Without headings, lines as short as a name may be one.
NAME_LENGTH = 120
LEAVES = {"list": "clause"}


@dataclass(frozen=True, slots=True)
class Spoken:
    """A passage as the outline wants it."""

    text: str
    label: str
    level: int
    is_bold: bool
    is_entry: bool = False


def write(source: Source) -> bytes:
    flow = [passage for passage in flow_of(source.document) if passage.kind is not Kind.RUNNING]
    text = " ".join(passage.text for passage in flow[:200])
    return written(source.document, outline_of(_spoken(passage) for passage in flow), text)


def written(document: Document, outline: Outline, text: str) -> bytes:
    """`text` is how the document begins."""
    headings = [text for text, stands_out in outline.preface if stands_out]
    title = document.title or next(iter(headings), "")
    root = AKN.root("akomaNtoso")
    kind = kind_of([title, *(headings or _short_lines(outline))])
    if kind == "act":
        work, body = _opened(root, "act", kind, "body")
    else:
        work, body = _opened(root, "doc", kind, "mainBody")
    add_meta(work[0], document, work.get("name", ""), title, text)
    preface, plain = _preface_of(outline)
    _add_preface(body, preface, outline.contents)
    if outline.recitals:
        _add_recitals(body, outline.recitals)
    writer = Writer()
    writer.add(body, outline.provisions, "")
    for entry in work.iter("{*}tocItem"):
        entry.set("href", f"#{writer.named.get(_entry_number(entry.text or ''), '')}")
    if not len(body):
        _add_plain(body, plain, work.tag.endswith("}act"))
    return serialized(root)


def _short_lines(outline: Outline) -> list[str]:
    return [text for text, _ in outline.preface if len(text) <= NAME_LENGTH]


def _spoken(passage: Passage) -> Spoken:
    return Spoken(passage.text, passage.label, passage.level, passage.is_bold, passage.kind is Kind.ENTRY)


def _opened(root: etree._Element, kind: str, name: str, body: str) -> tuple[etree._Element, etree._Element]:
    work = AKN.add(root, kind, name=name)
    AKN.add(work, "meta")
    return work, AKN.add(work, body)


def _preface_of(outline: Outline) -> tuple[list[tuple[str, bool]], list[str]]:
    """And what is left of it where nothing follows: then all but the title, and what stands above that, is the text."""
    if outline.provisions:
        return outline.preface, []
    title = next((number for number, (_, stands_out) in enumerate(outline.preface, 1) if stands_out), 0)
    return outline.preface[:title], [text for text, _ in outline.preface[title:]]


def _add_preface(body: etree._Element, lines: list[tuple[str, bool]], entries: list[str]) -> None:
    if not lines and not entries:
        return
    preface = AKN.root("preface")
    body.addprevious(preface)
    titled = False
    for text, stands_out in lines:
        if stands_out and not titled:
            AKN.add(AKN.add(preface, "p"), "docTitle", text)
            titled = True
        else:
            AKN.add(preface, "p", text)
    if entries:
        contents = AKN.add(preface, "toc", eId="toc")
        for text in entries:
            AKN.add(contents, "tocItem", text, level=str(_depth(text)), href="#")


def _depth(entry: str) -> int:
    """By its number: `4.9.1` is of the third level."""
    return _entry_number(entry).count(".") + 1


def _entry_number(entry: str) -> str:
    found = re.match(r"\d+(?:\.\d+)*", entry)
    return found[0] if found else ""


def _add_recitals(body: etree._Element, recitals: Recitals) -> None:
    preamble = AKN.root("preamble")
    body.addprevious(preamble)
    if not recitals.each:
        AKN.add(preamble, "p", recitals.heading)
        return
    whole = AKN.add(preamble, "recitals", eId="recs")
    AKN.add(whole, "heading", recitals.heading)
    for place, (number, text) in enumerate(recitals.each, 1):
        recital = AKN.add(whole, "recital", eId=f"recs__rec_{place}")
        if number:
            AKN.add(recital, "num", number)
        AKN.add(recital, "p", text)


def _add_plain(body: etree._Element, paragraphs: list[str], is_act: bool) -> None:
    """A text without numbers is one provision."""
    section = AKN.add(body, "section", eId="sec_1") if is_act else body
    content = AKN.add(section, "content", eId="sec_1__content") if is_act else section
    for text in paragraphs or [""]:
        AKN.add(content, "p", text)


class Writer:
    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()
        self.named: dict[str, str] = {}
        """The first of each number, for those who point to it."""
        self._unnumbered: Counter[tuple[str, str]] = Counter()

    def add(self, parent: etree._Element, provisions: list[Provision], above: str) -> None:
        for provision in provisions:
            self._add_one(parent, provision, above)

    def _add_one(self, parent: etree._Element, provision: Provision, above: str) -> None:
        kind = LEAVES.get(provision.kind, provision.kind)
        name = self._name(kind, provision.number, above)
        if kind == "crossHeading":
            AKN.add(parent, kind, provision.heading, eId=name)
            return
        node = AKN.add(parent, kind, eId=name)
        if provision.number:
            AKN.add(node, "num", provision.number)
            self.named.setdefault(provision.number.strip("."), name)
        else:
            node.set("name", container_of(provision.heading))
        if provision.heading:
            AKN.add(node, "heading", provision.heading)
        if provision.children:
            if provision.paragraphs:
                self._paragraphs(node, "intro", name, provision.paragraphs)
            self.add(node, provision.children, f"{name}__")
        else:
            self._paragraphs(node, "content", name, provision.paragraphs or [""])

    def _paragraphs(self, node: etree._Element, tag: str, name: str, paragraphs: list[str]) -> None:
        content = AKN.add(node, tag, eId=self._free(f"{name}__{tag}"))
        for paragraph in paragraphs:
            AKN.add(content, "p", paragraph)

    def _name(self, kind: str, number: str, above: str) -> str:
        """`art_5__para_2__point_a`; what has no number has its place."""
        bare = re.sub(r"[^\w.-]+", "", number.split()[-1] if number.split() else "").strip(".").lower()
        if not bare:
            self._unnumbered[above, kind] += 1
            bare = str(self._unnumbered[above, kind])
        return self._free(f"{above}{SHORT.get(kind, kind)}_{bare.replace('.', '-')}")

    def _free(self, name: str) -> str:
        """`art_5`, then `art_5_2`: what comes again is counted, past whatever already has that name."""
        free = name
        while free in self._taken:
            self._taken[name] += 1
            free = f"{name}_{self._taken[name]}"
        self._taken[free] = 1
        return free


MAPPING = Mapping(
    XmlMapping(
        name="akn",
        version="6",
        description=DESCRIPTIONS["akn"],
        schema="Akoma Ntoso 3.0 (OASIS LegalDocML 1.0)",
        namespace=NAMESPACE,
    ),
    write,
    Schema("akn/akomantoso30.xsd"),
)

"""What Akoma Ntoso wants to know of a text before its first word: which work, expression and manifestation it is.

A PDF rarely says; dates and languages are taken from what it does say, and unknown stays recognizable as such: the
naming convention takes languages by ISO 639-2, which has `und` for them.
"""

from __future__ import annotations

import hashlib
import re

from lxml import etree

from quire.convert.domain.language import language_of, long_code
from quire.convert.infrastructure.mappings.xml_tree import Tree
from quire.reading import Document

NAMESPACE = "http://docs.oasis-open.org/legaldocml/ns/akn/3.0"
AKN = Tree(NAMESPACE)
UNKNOWN_DATE = "1970-01-01"
UNKNOWN_COUNTRY = "xx"
SOURCE = "#quire"
COUNTRIES = {"rus": "ru", "tur": "tr"}


def add_meta(meta: etree._Element, document: Document, kind: str, title: str, text: str) -> None:
    language = long_code(language_of(document.language, text))
    day = document.created_on or UNKNOWN_DATE
    country = COUNTRIES.get(language, UNKNOWN_COUNTRY)
    work = f"/akn/{country}/{kind}/{day}/{_slug(title, text)}"
    identification = AKN.add(meta, "identification", source=SOURCE)
    first = _level(identification, "FRBRWork", work, day)
    AKN.add(first, "FRBRcountry", value=country)
    expression = f"{work}/{language}@{day}"
    _level(identification, "FRBRExpression", expression, day)
    AKN.add(identification[-1], "FRBRlanguage", language=language)
    _level(identification, "FRBRManifestation", expression, day, ".xml")
    AKN.add(identification[-1], "FRBRformat", value="application/xml")
    references = AKN.add(meta, "references", source=SOURCE)
    AKN.add(
        references,
        "TLCOrganization",
        eId="quire",
        href="/akn/ontology/organization/quire",
        showAs="Quire gateway",
    )


def _level(parent: etree._Element, tag: str, uri: str, day: str, ending: str = "") -> etree._Element:
    """The format ends the name, as the naming convention has it, of the whole and of its main part alike."""
    node = AKN.add(parent, tag)
    AKN.add(node, "FRBRthis", value=f"{uri}/!main{ending}")
    AKN.add(node, "FRBRuri", value=f"{uri}{ending}")
    AKN.add(node, "FRBRdate", date=day, name="Generation")
    AKN.add(node, "FRBRauthor", href=SOURCE)
    return node


def _slug(title: str, text: str) -> str:
    """Readable where the title is Latin, and never the same for two texts."""
    words = re.findall(r"[a-z0-9]+", title.lower())[:6]
    digest = hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:8]
    return "-".join([*words, digest])

"""Words, their order and their boxes, held against poppler's on documents of others."""

from __future__ import annotations

import difflib
import re
import subprocess
import unicodedata
from pathlib import Path

import pytest
from lxml import etree
from tests.unit.convert.samples import NAMES, READ_BY_EYE, SAMPLES, mapped

ALTO = "{http://www.loc.gov/standards/alto/ns-v4#}"
POINTS = 72 / 1200
# Of all words: of poppler's, so that none is missing, and of ours, so that none is added.
SAME_WORDS = 0.99
BOX_POINTS = 2.0
ORDERS = SAMPLES.parent / "order"
NOWHERE = (0.0, 0.0, 0.0, 0.0)
# The line that the footer of this invoice hides is text of the file, which poppler has too, and nothing of the picture.
UNSEEN_WORDS = {"invoice-factur-x": 15}

Placed = tuple[str, tuple[float, float, float, float]]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in READ_BY_EYE])
def test_alto_has_popplers_words_in_popplers_order_at_popplers_places(name: str) -> None:
    path = SAMPLES / f"{name}.pdf"
    ours, theirs = alto_pages(path), poppler_pages(path)
    pairs = [pair for page in zip(theirs, ours, strict=True) for pair in aligned(*page)]
    near = sum(is_near(*boxes) for boxes in pairs)
    assert near >= SAME_WORDS * count(theirs) > 0
    assert near >= SAME_WORDS * count(ours)


@pytest.mark.parametrize("name", READ_BY_EYE)
def test_alto_has_popplers_words_at_popplers_places_in_tables_and_columns_too(name: str) -> None:
    """In another order: poppler takes forms, tables and columns apart. What their pictures read is held against ours
    below."""
    path = SAMPLES / f"{name}.pdf"
    ours, theirs = alto_pages(path), poppler_pages(path)
    words = count(ours)
    found = sum(taken(word, page) for page, others in zip(ours, theirs, strict=True) for word in others)
    assert found >= SAME_WORDS * count(theirs) > 0
    assert found >= SAME_WORDS * words


@pytest.mark.parametrize("name", READ_BY_EYE)
def test_invoices_and_columns_are_read_in_the_order_in_which_their_pictures_read(name: str) -> None:
    """How each came to be is told beside the samples."""
    pages = (ORDERS / f"{name}.txt").read_text(encoding="utf-8").split("\f")
    seen = [[(plain(word), NOWHERE) for word in page.split()] for page in pages]
    ours = alto_pages(SAMPLES / f"{name}.pdf")
    agreed = sum(len(aligned(*page)) for page in zip(seen, ours, strict=True))
    assert agreed >= SAME_WORDS * count(seen) > 0
    assert agreed >= SAME_WORDS * (count(ours) - UNSEEN_WORDS.get(name, 0))


def count(pages: list[list[Placed]]) -> int:
    return sum(map(len, pages))


def is_near(box: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return max(map(abs, map(float.__sub__, box, other))) <= BOX_POINTS


def taken(word: Placed, words: list[Placed]) -> bool:
    """Whether it is among them at its place; then it is so once."""
    text, box = word
    for other in words:
        if other[0] == text and is_near(box, other[1]):
            words.remove(other)
            return True
    return False


def aligned(theirs: list[Placed], ours: list[Placed]) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Boxes of the words that both have, as far as they come in the same order."""
    matcher = difflib.SequenceMatcher(
        None, [text for text, _ in theirs], [text for text, _ in ours], autojunk=False
    )
    return [
        (theirs[block.a + step][1], ours[block.b + step][1])
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    ]


def plain(text: str) -> str:
    return re.sub("[\u00ad\u2010]", "-", unicodedata.normalize("NFKC", text))


def poppler_pages(path: Path) -> list[list[Placed]]:
    done = subprocess.run(
        ["pdftotext", "-cropbox", "-bbox-layout", path, "-"], capture_output=True, check=True, timeout=120
    )
    # What poppler writes is not always XML.
    clean = re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"", done.stdout)
    root = etree.fromstring(clean, etree.XMLParser(recover=True, huge_tree=True))
    return [
        [(plain(word.text or ""), tuple(float(word.get(edge)) for edge in ("xMin", "yMin", "xMax", "yMax")))
         for word in page.iter("{*}word")]
        for page in root.iter("{*}page")
    ]  # fmt: skip


def alto_pages(path: Path) -> list[list[Placed]]:
    root = etree.fromstring(mapped("alto", path.read_bytes()))
    return [
        [(text_of(node), box_of(node)) for node in page.iter(f"{ALTO}String")]
        for page in root.iter(f"{ALTO}Page")
    ]


def text_of(node: etree._Element) -> str:
    following = node.getnext()
    hyphen = "-" if following is not None and following.tag == f"{ALTO}HYP" else ""
    return plain(node.get("CONTENT", "") + hyphen)


def box_of(node: etree._Element) -> tuple[float, float, float, float]:
    left, top, width, height = (
        POINTS * float(node.get(name, "")) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT")
    )
    return left, top, left + width, top + height

"""Words with their places, as poppler has them and as our ALTO has them, and how far the two agree."""

from __future__ import annotations

import difflib
import re
import subprocess
import unicodedata
from collections import defaultdict
from pathlib import Path

from lxml import etree

ALTO = "{http://www.loc.gov/standards/alto/ns-v4#}"
POINTS = 72 / 1200
BOX_POINTS = 2.0

Edges = tuple[float, float, float, float]
Placed = tuple[str, Edges]


def plain(text: str) -> str:
    return re.sub("[\u00ad\u2010]", "-", unicodedata.normalize("NFKC", text))


def poppler_pages(path: Path, *, pages: int = 0, in_file_order: bool = False) -> list[list[Placed]]:
    """Of the first so many pages, or of all; in the order of its layout, or in that in which the file draws them."""
    last = ["-l", str(pages)] if pages else []
    how = ["-raw", "-bbox"] if in_file_order else ["-bbox-layout"]
    done = subprocess.run(
        ["pdftotext", "-cropbox", *how, *last, path, "-"], capture_output=True, check=True, timeout=120
    )
    # What poppler writes is not always XML.
    clean = re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"", done.stdout)
    root = etree.fromstring(clean, etree.XMLParser(recover=True, huge_tree=True))
    return [
        [(plain(word.text or ""), _edges(word)) for word in page.iter("{*}word")]
        for page in root.iter("{*}page")
    ]


def _edges(word: etree._Element) -> Edges:
    left, top, right, bottom = (float(word.get(edge, "")) for edge in ("xMin", "yMin", "xMax", "yMax"))
    return left, top, right, bottom


def alto_pages(alto: bytes) -> list[list[Placed]]:
    root = etree.fromstring(alto)
    return [
        [(_text(node), _box(node)) for node in page.iter(f"{ALTO}String")]
        for page in root.iter(f"{ALTO}Page")
    ]


def _text(node: etree._Element) -> str:
    following = node.getnext()
    hyphen = "-" if following is not None and following.tag == f"{ALTO}HYP" else ""
    return plain(node.get("CONTENT", "") + hyphen)


def _box(node: etree._Element) -> Edges:
    left, top, width, height = (
        POINTS * float(node.get(name, "")) for name in ("HPOS", "VPOS", "WIDTH", "HEIGHT")
    )
    return left, top, left + width, top + height


def is_near(box: Edges, other: Edges) -> bool:
    return max(map(abs, map(float.__sub__, box, other))) <= BOX_POINTS


def overlap(box: Edges, other: Edges) -> bool:
    return min(box[2], other[2]) > max(box[0], other[0]) and min(box[3], other[3]) > max(box[1], other[1])


def aligned(theirs: list[Placed], ours: list[Placed]) -> list[tuple[Edges, Edges]]:
    """Boxes of the words that both have, as far as they come in the same order."""
    matcher = difflib.SequenceMatcher(
        None, [text for text, _ in theirs], [text for text, _ in ours], autojunk=False
    )
    return [
        (theirs[block.a + step][1], ours[block.b + step][1])
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    ]


def paired(theirs: list[Placed], ours: list[Placed]) -> dict[int, int]:
    """The words that both have in the same place, in whatever order, by their numbers; each is paired once. Those
    within 2 points choose first, those that but overlap take what is left."""
    free: defaultdict[str, list[int]] = defaultdict(list)
    for number, (text, _) in enumerate(ours):
        free[text].append(number)
    pairs: dict[int, int] = {}
    for is_same in (is_near, overlap):
        for number, (text, box) in enumerate(theirs):
            if number not in pairs:
                place = next((other for other in free[text] if is_same(box, ours[other][1])), None)
                if place is not None:
                    free[text].remove(place)
                    pairs[number] = place
    return pairs

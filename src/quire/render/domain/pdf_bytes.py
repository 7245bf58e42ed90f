"""What varies in the bytes Chromium prints, made constant in place: no offset moves, so nothing is parsed or rebuilt.

Knows Skia's plain layout (information dictionary first, one classic cross-reference table); refuses any other.
"""

from __future__ import annotations

import re

PINNED_DATE = b"D:20000101000000+00'00'"

_DATES = re.compile(
    rb"/CreationDate \((D:\d{14}\+00'00')\)\n/ModDate \((D:\d{14}\+00'00')\)>>\nendobj",
)
# An id stands in these places only. `/Alt (node00000007)` is somebody's text, and brackets inside text are escaped.
_ID_PLACES = re.compile(rb"/ID \(node\d{8}\)|/(?:Headers|Limits|Names) \[[^\]]*\]")
_ID = re.compile(rb"\(node(\d{8})\)")
_TRAILER = re.compile(rb"trailer\n<<.*?/Root (\d+) 0 R.*?startxref\n(\d+)\n%%EOF\s*\Z", re.DOTALL)
_XREF_HEAD = re.compile(rb"xref\n0 (\d+)\n")
_PAGE_TREE = re.compile(rb"/Pages (\d+) 0 R")
_COUNT = re.compile(rb"/Count (\d+)")
XREF_ENTRY_BYTES = 20
TRAILER_BYTES = 1024
OBJECT_BYTES = 4096


def deterministic(pdf: bytes) -> bytes:
    """The same document with pinned dates and structure ids numbered from one; of the same length.

    Raises ValueError for bytes that Skia did not write.
    """
    return renumber_structure_ids(pin_dates(pdf))


def pin_dates(pdf: bytes) -> bytes:
    found = _DATES.search(pdf)
    if found is None:
        raise ValueError("no creation date where Chromium writes it")
    parts = (pdf[: found.start(1)], PINNED_DATE, pdf[found.end(1) : found.start(2)], PINNED_DATE)
    return b"".join((*parts, pdf[found.end(2) :]))


def renumber_structure_ids(pdf: bytes) -> bytes:
    """Structure ids come from a counter that runs on while a page is reused. Their rank does not change, and keeps
    the sorted name tree sorted."""
    if b"/StructTreeRoot" not in pdf:
        return pdf
    places = [match.group() for match in _ID_PLACES.finditer(pdf)]
    ids = sorted({number for place in places for number in _ID.findall(place)})
    if not ids:
        return pdf
    ranks = {number: b"(node%08d)" % rank for rank, number in enumerate(ids, start=1)}
    return _ID_PLACES.sub(lambda place: _ID.sub(lambda found: ranks[found.group(1)], place.group()), pdf)


def count_pages(pdf: bytes) -> int:
    """Follows trailer, catalog and page tree, so that text which looks like a page is not counted."""
    trailer = _TRAILER.search(pdf, max(0, len(pdf) - TRAILER_BYTES))
    if trailer is None:
        raise ValueError("no trailer where Chromium writes it")
    root, table_at = (int(group) for group in trailer.groups())
    catalog = _object_at(pdf, table_at, root)
    tree = _PAGE_TREE.search(catalog)
    count = _COUNT.search(_object_at(pdf, table_at, int(tree.group(1)))) if tree else None
    if count is None:
        raise ValueError("no page tree where Chromium writes it")
    return int(count.group(1))


def _object_at(pdf: bytes, table_at: int, number: int) -> bytes:
    head = _XREF_HEAD.match(pdf, table_at)
    if head is None or number >= int(head.group(1)):
        raise ValueError("no cross-reference table where Chromium writes it")
    entry_at = head.end() + XREF_ENTRY_BYTES * number
    offset = int(pdf[entry_at : entry_at + 10])
    return pdf[offset : offset + OBJECT_BYTES].split(b"endobj", 1)[0]

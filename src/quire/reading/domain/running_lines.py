"""What only the paper needs, at the head and foot of its pages: page numbers, titles that come again, and whatever
stands beside them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from typing import NamedTuple

from quire.reading.domain.page import Block, Document, Line, Page
from quire.reading.domain.page_number import RUNNING_PAGES, SAME_ROW, numbered_rows

# Share of the page at its head and foot in which they stand.
EDGE = 0.09
# A block of more lines is a text.
LINES_MAX = 3
# In shares of the page, as letters set askew have it.
STAMP_HEIGHT = 0.15
STAMPED_PAGES = 2
PAGE_NUMBER = re.compile(
    r"[-–—\s]*(?:page |seite |стр(?:\.|аница)? |sayfa )?\d{1,5}[-–—\s]*(?:(?:of|von|sur|из|/) ?\d{1,5})?|[ivxlc]{1,6}",
    re.IGNORECASE,
)


class Edge(NamedTuple):
    """A line near the edge of a page."""

    page: int
    line: Line
    place: str

    @property
    def pattern(self) -> tuple[str, str]:
        """What it has in common with its likes on other pages."""
        return self.place, re.sub(r"\d+|\b[ivxlc]+\b", "#", self.line.text)


def running_lines(document: Document) -> dict[tuple[int, int], str]:
    """The place of each, `top`, `bottom` or, of stamps, `over`, by its page and identity."""
    stamps = _stamps(document)
    edges = [
        Edge(page.number, line, place)
        for page in document.pages
        for block in page.blocks
        for line in block.lines
        if (place := _place(page, block, line))
    ]
    levels: defaultdict[int, list[float]] = defaultdict(list)
    for edge in _known(edges, _title(document, stamps)):
        levels[edge.page].append(edge.line.baseline)
    for each in levels.values():
        each.sort()
    return (
        stamps
        | numbered_rows(document.pages)
        | {
            (edge.page, id(edge.line)): edge.place
            for edge in edges
            if _is_level(edge.line, levels[edge.page])
        }
    )


def _known(edges: list[Edge], title: str) -> list[Edge]:
    """Those that come again on other pages, but for their numbers, or are a number alone, or the document's title
    over another page than the first."""
    seen = Counter(pattern for _, pattern in {(edge.page, edge.pattern) for edge in edges})
    return [
        edge
        for edge in edges
        if PAGE_NUMBER.fullmatch(edge.line.text)
        or seen[edge.pattern] >= RUNNING_PAGES
        or (edge.line.text == title and edge.page > 1)
    ]


def _stamps(document: Document) -> dict[tuple[int, int], str]:
    """`DRAFT` in huge letters across the text, at the same place of several pages."""
    large = [
        (page.number, line)
        for page in document.pages
        for block in page.blocks
        for line in block.lines
        if line.box.height >= STAMP_HEIGHT * page.height
    ]
    seen = Counter((line.text, tuple(map(round, line.box))) for _, line in large)
    return {
        (page, id(line)): "over"
        for page, line in large
        if seen[line.text, tuple(map(round, line.box))] >= STAMPED_PAGES
    }


def _title(document: Document, stamps: dict[tuple[int, int], str]) -> str:
    """The largest line of the first page."""
    lines = [
        line
        for page in document.pages[:1]
        for block in page.blocks
        for line in block.lines
        if (page.number, id(line)) not in stamps
    ]
    largest = max(lines, key=lambda line: line.box.height, default=None)
    return largest.text if largest else ""


def _is_level(line: Line, levels: list[float]) -> bool:
    reach = SAME_ROW * line.box.height
    return bisect_left(levels, line.baseline - reach) < bisect_right(levels, line.baseline + reach)


def _place(page: Page, block: Block, line: Line) -> str:
    if len(block.lines) > LINES_MAX:
        return ""
    if line.box.bottom < EDGE * page.height:
        return "top"
    return "bottom" if line.box.top > (1 - EDGE) * page.height else ""

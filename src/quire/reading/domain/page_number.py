"""The row at the head or foot of a page that counts the pages, wherever its margins put it and whatever title stands
beside the number: it is known by counting as the pages do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from quire.reading.domain.page import Line, Page

# What comes again on so many pages belongs to the paper.
RUNNING_PAGES = 3
# Share of the page at its head and foot in which such a row may stand.
EDGE = 0.2
SAME_ROW = 0.4
DIGITS_MAX = 4


class Row(NamedTuple):
    page: int
    place: str
    lines: list[Line]

    def counts(self) -> set[int]:
        """By how much a number at its beginning or end is ahead of the page's own."""
        ends = {self.lines[0].words[0].text, self.lines[-1].words[-1].text}
        return {int(text) - self.page for text in ends if text.isdecimal() and len(text) <= DIGITS_MAX}


def numbered_rows(pages: Iterable[Page]) -> dict[tuple[int, int], str]:
    """The place of each line of such rows, by its page and identity."""
    rows = [row for page in pages for row in _outer_rows(page)]
    seen = Counter((row.place, ahead) for row in rows for ahead in row.counts())
    return {
        (row.page, id(line)): row.place
        for row in rows
        if any(seen[row.place, ahead] >= RUNNING_PAGES for ahead in row.counts())
        for line in row.lines
    }


def _outer_rows(page: Page) -> Iterator[Row]:
    lines = [line for block in page.blocks for line in block.lines]
    if not lines:
        return
    highest, lowest = min(lines, key=_baseline), max(lines, key=_baseline)
    if highest.box.bottom < EDGE * page.height:
        yield Row(page.number, "top", _row(lines, highest))
    if lowest.box.top > (1 - EDGE) * page.height:
        yield Row(page.number, "bottom", _row(lines, lowest))


def _row(lines: list[Line], one: Line) -> list[Line]:
    reach = SAME_ROW * one.box.height
    row = [line for line in lines if abs(line.baseline - one.baseline) <= reach]
    return sorted(row, key=lambda line: line.box.left)


def _baseline(line: Line) -> float:
    return line.baseline

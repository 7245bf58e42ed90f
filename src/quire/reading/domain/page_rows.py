"""What stands beside what on a page. A heading has its line for itself; text with another text beside it is a cell of
a table, a label or a value, however it looks. Columns of prose are not rows."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from quire.reading.domain.page import Line, Page, TextStyle

SAME_BASELINE = 0.3
# In multiples of a line's height. Prose has lines that long, in the narrowest columns too; cells rarely have.
PROSE_WIDTH = 12.0
# How far under a heading its text begins.
UNDER_REACH = 4.0
# Of one look around; no page that anyone reads has so many lines there.
LINES_MAX = 500
NUMBER = re.compile(r"(?:§\s*)?[(\d][\d.)]*|[IVXLC]+\.?|[A-Za-zА-Яа-я][.)]")


class PageRows:
    def __init__(self, page: Page, styles: tuple[TextStyle, ...]) -> None:
        self._styles = styles
        self._lines = sorted((line for block in page.blocks for line in block.lines), key=_baseline)
        self._baselines = [line.baseline for line in self._lines]

    def is_cell(self, lines: list[Line]) -> bool:
        """Whether a line of these shares its row with another, of them or not."""
        return any(self._shares_row(line) for line in lines)

    def _shares_row(self, line: Line) -> bool:
        beside = [other for other in self._between(line, SAME_BASELINE) if _are_apart(line, other)]
        if not beside or self._is_numbered(line, beside):
            return False
        return not (all(map(self._is_prose, beside)) and self._heads_prose(line, beside))

    def _between(self, line: Line, reach: float) -> list[Line]:
        """Lines whose baseline is at most so many heights above or below."""
        span = reach * line.box.height
        first = bisect_left(self._baselines, line.baseline - span)
        end = bisect_right(self._baselines, line.baseline + span)
        return self._lines[first : min(end, first + LINES_MAX)]

    def _is_numbered(self, line: Line, beside: list[Line]) -> bool:
        """`1.` and `Definitions` stand apart where a tab is between them, and are one heading."""
        if len(beside) != 1:
            return False
        number = min(line, beside[0], key=lambda one: one.box.left)
        return NUMBER.fullmatch(number.text) is not None and self._is_bold(line) and self._is_bold(beside[0])

    def _heads_prose(self, line: Line, beside: list[Line]) -> bool:
        """The line under it is prose and keeps to its own column."""
        under = [other for other in self._between(line, UNDER_REACH) if _is_under(line, other)]
        return bool(under) and self._is_prose(under[0]) and all(_are_apart(under[0], one) for one in beside)

    def _is_prose(self, line: Line) -> bool:
        return line.box.width >= PROSE_WIDTH * line.box.height and not self._is_bold(line)

    def _is_bold(self, line: Line) -> bool:
        return all(self._styles[word.style].is_bold for word in line.words)


def _baseline(line: Line) -> float:
    return line.baseline


def _are_apart(one: Line, other: Line) -> bool:
    return one.box.right <= other.box.left or other.box.right <= one.box.left


def _is_under(line: Line, other: Line) -> bool:
    return other.baseline > line.baseline + SAME_BASELINE * line.box.height and not _are_apart(line, other)

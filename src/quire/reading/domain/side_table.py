"""Tables side by side, such as the taxes of an invoice and its totals, known by the lines drawn in them: each has its
own, and none runs from one into the other. Where no lines are drawn, or the rows of both agree, they are one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quire.reading.domain.page import Line
from quire.reading.domain.piece import Piece
from quire.reading.domain.text_box import SAME_ROW

# Between two tables, in points. Less is a gap within one, more is the other side of the page.
GAP_MIN = 5.0
GAP_MAX = 90.0
# How far from the gap a table's line may end.
REACH = 40.0
# In multiples of a line's height: what stands further below begins something else.
APART = 1.5
ROWS_MIN = 2
# Of the rows of the smaller one; tables that share more are one.
SHARED = 0.75
# A page with more is looked at no further, whatever it is.
PIECES_MAX = 500
GAPS_MAX = 40


class Rule(NamedTuple):
    """A horizontal line, or the upper or lower edge of a filled box, in points as the reader sees the page."""

    left: float
    right: float
    top: float


class Gap(NamedTuple):
    """Between `left` and `right` there may be two tables: `ends` and `begins` are the heights of lines that end and
    begin beside it, `cuts` of those that run across. All in order, for a page has many places to look at."""

    left: float
    right: float
    ends: list[float]
    begins: list[float]
    cuts: list[float]

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


class Band(NamedTuple):
    """A part of the page, beside a gap, from height to height."""

    gap: Gap
    begin: float
    end: float


class Division(NamedTuple):
    """Read in this order."""

    above: list[Piece]
    left: list[Piece]
    right: list[Piece]
    below: list[Piece]


def parted(pieces: list[Piece], rules: Sequence[Rule]) -> Iterator[list[Piece]]:
    yield from _parted(pieces, _gaps(rules) if len(pieces) <= PIECES_MAX else [])


def _parted(pieces: list[Piece], gaps: list[Gap]) -> Iterator[list[Piece]]:
    band = _largest(pieces, gaps)
    if band is None:
        yield pieces
        return
    for part in _division(pieces, band):
        if part:
            yield from _parted(part, gaps)


def _largest(pieces: list[Piece], gaps: list[Gap]) -> Band | None:
    found, size = None, 0
    falling = sorted(pieces, key=_top)
    tops = [_top(piece) for piece in falling]
    for gap in gaps:
        for band in _bands(falling, gap):
            within = falling[bisect_left(tops, band.begin) : bisect_right(tops, band.end)]
            inside = [piece for piece in within if piece.edges.bottom <= band.end]
            if len(inside) > size and _holds_two(inside, band):
                found, size = band, len(inside)
    return found


def _top(piece: Piece) -> float:
    return piece.edges.top


def _gaps(rules: Sequence[Rule]) -> list[Gap]:
    """Those first that most lines end and begin at."""
    ends, begins = Counter(rule.right for rule in rules), Counter(rule.left for rule in rules)
    gaps = [(end, begin) for end in ends for begin in begins if GAP_MIN <= begin - end <= GAP_MAX]
    gaps.sort(key=lambda gap: (-min(ends[gap[0]], begins[gap[1]]), gap))
    return [_gap(*gap, rules) for gap in gaps[:GAPS_MAX]]


def _gap(left: float, right: float, rules: Sequence[Rule]) -> Gap:
    middle = (left + right) / 2
    return Gap(
        left,
        right,
        sorted({rule.top for rule in rules if left - REACH < rule.right <= left}),
        sorted({rule.top for rule in rules if right <= rule.left < right + REACH}),
        sorted({rule.top for rule in rules if rule.left < middle < rule.right}),
    )


def _bands(falling: list[Piece], gap: Gap) -> Iterator[Band]:
    """From top to bottom what nothing crosses and no empty stripe parts."""
    begin, reach = -1e9, -1e9
    for piece in falling:
        edges = piece.edges
        crosses = edges.left < gap.middle < edges.right
        is_apart = reach > begin and edges.top - reach > APART * piece.block.lines[0].box.height
        if crosses or is_apart or bisect_left(gap.cuts, reach) < bisect_right(gap.cuts, edges.top):
            yield Band(gap, begin, (reach + edges.top) / 2 if not crosses else edges.top)
            begin = edges.bottom if crosses else (reach + edges.top) / 2
        reach = max(reach, edges.bottom)
    yield Band(gap, begin, 1e9)


def _holds_two(inside: list[Piece], band: Band) -> bool:
    """Whether these are two tables: something on each side and nothing in between, each with lines of its own."""
    left, right = _sides(inside, band.gap)
    if not left or not right or len(left) + len(right) != len(inside):
        return False
    lines_left, lines_right = _within(band.gap.ends, band), _within(band.gap.begins, band)
    if not lines_left or not lines_right or lines_left == lines_right:
        return False
    return not _are_one(left, right)


def _sides(inside: list[Piece], gap: Gap) -> tuple[list[Piece], list[Piece]]:
    return (
        [piece for piece in inside if piece.edges.right <= gap.right - 1],
        [piece for piece in inside if piece.edges.left >= gap.left + 1],
    )


def _within(heights: list[float], band: Band) -> list[float]:
    return heights[bisect_right(heights, band.begin) : bisect_left(heights, band.end)]


def _division(pieces: list[Piece], band: Band) -> Division:
    above = [piece for piece in pieces if piece.edges.top < band.begin]
    others = [piece for piece in pieces if piece.edges.top >= band.begin]
    left, right = _sides([piece for piece in others if piece.edges.bottom <= band.end], band.gap)
    return Division(above, left, right, [piece for piece in others if piece.edges.bottom > band.end])


def _are_one(left: list[Piece], right: list[Piece]) -> bool:
    rows, others = _rows(left), _rows(right)
    fewer = min(len(rows), len(others))
    levels = [other.baseline for other in others]
    shared = sum(_is_level(row, levels) for row in rows)
    return fewer < ROWS_MIN or shared >= SHARED * fewer


def _is_level(row: Line, levels: list[float]) -> bool:
    reach = SAME_ROW * row.box.height
    return bisect_left(levels, row.baseline - reach) < bisect_right(levels, row.baseline + reach)


def _rows(pieces: list[Piece]) -> list[Line]:
    """A line of each."""
    rows: list[Line] = []
    for line in sorted(
        (line for piece in pieces for line in piece.block.lines), key=lambda line: line.baseline
    ):
        if not rows or not _is_same(line, rows[-1]):
            rows.append(line)
    return rows


def _is_same(line: Line, other: Line) -> bool:
    return abs(line.baseline - other.baseline) <= SAME_ROW * line.box.height

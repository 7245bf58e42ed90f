"""Tables side by side, such as the taxes of an invoice and its totals, known by the lines drawn in them: each has its
own, and none runs from one into the other. Where no lines are drawn, or the rows of both agree, they are one."""

from __future__ import annotations

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


class Division(NamedTuple):
    """Read in this order."""

    above: list[Piece]
    left: list[Piece]
    right: list[Piece]
    below: list[Piece]


def parted(pieces: list[Piece], rules: Sequence[Rule]) -> Iterator[list[Piece]]:
    division = _largest(pieces, rules) if len(pieces) <= PIECES_MAX else None
    if division is None:
        yield pieces
        return
    for part in division:
        if part:
            yield from parted(part, rules)


def _largest(pieces: list[Piece], rules: Sequence[Rule]) -> Division | None:
    found: Division | None = None
    for gap in _gaps(rules):
        for band in _bands(pieces, rules, gap):
            division = _division(pieces, rules, gap, band)
            if division is not None and (found is None or _size(division) > _size(found)):
                found = division
    return found


def _size(division: Division) -> int:
    return len(division.left) + len(division.right)


def _gaps(rules: Sequence[Rule]) -> list[tuple[float, float]]:
    """Those first that most lines end and begin at."""
    ends, begins = Counter(rule.right for rule in rules), Counter(rule.left for rule in rules)
    gaps = [(end, begin) for end in ends for begin in begins if GAP_MIN <= begin - end <= GAP_MAX]
    return sorted(gaps, key=lambda gap: (-min(ends[gap[0]], begins[gap[1]]), gap))[:GAPS_MAX]


def _bands(
    pieces: list[Piece], rules: Sequence[Rule], gap: tuple[float, float]
) -> Iterator[tuple[float, float]]:
    """From top to bottom what nothing crosses and no empty stripe parts."""
    middle = sum(gap) / 2
    cuts = [rule.top for rule in rules if rule.left < middle < rule.right]
    begin, reach = -1e9, -1e9
    for piece in sorted(pieces, key=lambda piece: piece.edges.top):
        edges = piece.edges
        crosses = edges.left < middle < edges.right
        is_apart = reach > begin and edges.top - reach > APART * piece.block.lines[0].box.height
        if crosses or is_apart or any(reach <= cut <= edges.top for cut in cuts):
            yield begin, (reach + edges.top) / 2 if not crosses else edges.top
            begin = edges.bottom if crosses else (reach + edges.top) / 2
        reach = max(reach, edges.bottom)
    yield begin, 1e9


def _division(
    pieces: list[Piece], rules: Sequence[Rule], gap: tuple[float, float], band: tuple[float, float]
) -> Division | None:
    begin, end = band
    inside = [piece for piece in pieces if piece.edges.top >= begin and piece.edges.bottom <= end]
    left = [piece for piece in inside if piece.edges.right <= gap[1] - 1]
    right = [piece for piece in inside if piece.edges.left >= gap[0] + 1]
    if not left or not right or len(left) + len(right) != len(inside):
        return None
    lines_left = {
        rule.top for rule in rules if gap[0] - REACH < rule.right <= gap[0] and begin < rule.top < end
    }
    lines_right = {
        rule.top for rule in rules if gap[1] <= rule.left < gap[1] + REACH and begin < rule.top < end
    }
    if not lines_left or not lines_right or lines_left == lines_right or _are_one(left, right):
        return None
    above = [piece for piece in pieces if piece.edges.top < begin]
    below = [piece for piece in pieces if piece.edges.top >= begin and piece.edges.bottom > end]
    return Division(above, left, right, below)


def _are_one(left: list[Piece], right: list[Piece]) -> bool:
    rows, others = _rows(left), _rows(right)
    fewer = min(len(rows), len(others))
    shared = sum(any(_is_same(row, other) for other in others) for row in rows)
    return fewer < ROWS_MIN or shared >= SHARED * fewer


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

"""Puts the blocks of a page into the order a reader takes: across first where the whole width is one, down the
columns where a gutter runs between them, row by row through tables and contents. A recursive cut along empty stripes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from quire.reading.domain.mark import is_mark
from quire.reading.domain.page import Block, Line, around
from quire.reading.domain.page_columns import GUTTER, are_columns, whole_columns, without_edges
from quire.reading.domain.piece import Piece, piece_of, separated
from quire.reading.domain.side_table import Rule, parted
from quire.reading.domain.text_box import SAME_ROW, is_text, whole_boxes
from quire.reading.domain.twin_forms import whole_forms

BLOCKS_MAX = 4_000
DEPTH_MAX = 40
# Blocks that share so many of their baselines are columns of cells; others side by side are texts.
ALIGNED = 0.75
# More texts with headings over them are a table.
HEADED_MAX = 3
# A line with so many others on its baseline is a cell among cells.
ROW_CELLS = 2
# Each is held against all others to tell columns of cells from texts; no reader's table has so many.
CELLS_MAX = 1_000
# So many texts side by side are no columns of cells, if one line beside them is all that the row has of another sort.
ROW_TEXTS = 2


def in_reading_order(blocks: Sequence[Block], rules: Callable[[], Sequence[Rule]] = tuple) -> list[Block]:
    """A page of more blocks than any reader's page has stays as the file orders it. `rules` is asked for the lines
    drawn on the page if blocks stand side by side."""
    if len(blocks) > BLOCKS_MAX:
        return list(blocks)
    ordered: list[Block] = []
    if blocks:
        pieces = [piece_of(number, block) for number, block in enumerate(whole_boxes(blocks))]
        for part in parted(pieces, rules() if _are_side_by_side(pieces) else ()):
            for body in without_edges(part):
                _cut(body, ordered, 0)
    return ordered


def _are_side_by_side(pieces: list[Piece]) -> bool:
    return any(len(stripe) > 1 for stripe in separated(pieces, low=1, high=3, gap=0.0))


def _cut(pieces: list[Piece], ordered: list[Block], depth: int) -> None:
    if len(pieces) == 1 or depth > DEPTH_MAX:
        ordered += [piece.block for piece in pieces]
        return
    columns = separated(pieces, low=0, high=2, gap=GUTTER)
    is_prose = len(columns) > 1 and (all(map(_is_prose, columns)) or are_columns(columns))
    parts = columns if is_prose else list(_stripes(pieces))
    if len(parts) == 1:
        are_rows = len(columns) > 1 or any(map(_is_marks, pieces))
        ordered += _rows(pieces) if are_rows else [piece.block for piece in pieces]
        return
    for part in parts:
        _cut(part, ordered, depth + 1)


def _is_marks(piece: Piece) -> bool:
    """Bullets that were drawn before all of their items, nearer to them than a gutter is wide."""
    return all(is_mark(line.text) for line in piece.block.lines)


def _stripes(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """From top to bottom; but texts side by side that have a heading each go down with it, one after the other."""
    stripes = list(whole_forms(whole_columns(separated(pieces, low=1, high=3, gap=0.0))))
    headed = False
    for above, below in pairwise([*stripes, []]):
        if headed:
            headed = False
        elif _are_headings(above, below):
            headed = True
            yield from separated([*above, *below], low=0, high=2, gap=0.0)
        else:
            yield above


def _are_headings(above: list[Piece], below: list[Piece]) -> bool:
    if not 1 < len(above) == len(below) <= HEADED_MAX:
        return False
    pairs = zip(sorted(above, key=_left), sorted(below, key=_left), strict=True)
    return all(
        len(head.block.lines) == 1 < len(text.block.lines)
        and abs(_left(head) - _left(text)) < text.block.lines[0].box.height
        for head, text in pairs
    )


def _left(piece: Piece) -> float:
    return piece.edges.left


def _is_prose(column: list[Piece]) -> bool:
    lines = [line for piece in column for line in piece.block.lines]
    return len(lines) > 1 and is_text(lines)


def _rows(pieces: list[Piece]) -> list[Block]:
    """Cells side by side: what stands in one row is read together, from left to right."""
    columns = separated(pieces, low=0, high=2, gap=0.0)
    if _is_one_row(columns):
        return [
            piece.block for column in columns for piece in sorted(column, key=lambda piece: piece.edges.top)
        ]
    units = [unit for piece in pieces for unit in _units(piece, pieces)]
    return [block for row in separated(units, low=1, high=3, gap=0.0) for block in _row(row)]


def _is_one_row(columns: list[list[Piece]]) -> bool:
    """Texts of several lines, two of them at least, beside a number or name that stands with their first lines only."""
    lines = [[line for piece in column for line in piece.block.lines] for column in columns]
    texts = [column for column in lines if len(column) > 1]
    singles = [column[0] for column in lines if len(column) == 1]
    if len(texts) < ROW_TEXTS or not singles or not all(map(is_text, texts)):
        return False
    top = min(line.baseline for line in singles)
    firsts = [*singles, *(min(column, key=lambda line: line.baseline) for column in texts)]
    return all(abs(line.baseline - top) <= SAME_ROW * line.box.height for line in firsts)


def _units(piece: Piece, pieces: list[Piece]) -> list[Piece]:
    """A column of cells is taken apart, and clauses where their numbers stand beside them. A text of several lines in
    one cell stays whole."""
    lines = piece.block.lines
    if len(lines) == 1 or len(pieces) > CELLS_MAX:
        return [piece]
    if _is_marks(piece) or _are_cells(lines, _columns_beside(piece, pieces)):
        return [_part(piece, (line,)) for line in lines]
    marks = _marks_left_of(piece, pieces)
    begins = [
        place
        for place, line in enumerate(lines)
        if _is_near(line.baseline, marks, SAME_ROW * line.box.height)
    ]
    if len(begins) < ROW_TEXTS or begins[0] > 0:
        return [piece]
    return [_part(piece, lines[begin:end]) for begin, end in pairwise([*begins, len(lines)])]


def _part(piece: Piece, lines: tuple[Line, ...]) -> Piece:
    return piece_of(piece.number, Block(lines, around([line.box for line in lines])))


def _marks_left_of(piece: Piece, pieces: list[Piece]) -> list[Line]:
    """Numbers of clauses that hang in a column of their own."""
    left = piece.edges.left
    return [
        line
        for other in pieces
        if other.edges.right <= left
        for line in other.block.lines
        if is_mark(line.text)
    ]


def _columns_beside(piece: Piece, pieces: list[Piece]) -> list[list[Line]]:
    columns = separated([other for other in pieces if other is not piece], low=0, high=2, gap=0.0)
    return [[line for other in column for line in other.block.lines] for column in columns]


def _are_cells(lines: Sequence[Line], others: list[list[Line]]) -> bool:
    """Of several rows: there is a column beside with the same ones, or each has its row of other cells. What stands
    between two of them, as a number does in the middle of its high row, shows that the row is but one."""
    reach = SAME_ROW * lines[0].box.height
    levels = [line.baseline for other in others for line in other]
    if any(
        lines[0].baseline < level < lines[-1].baseline and not _is_near(level, lines, reach)
        for level in levels
    ):
        return False
    in_rows = all(sum(abs(line.baseline - level) <= reach for level in levels) >= ROW_CELLS for line in lines)
    return in_rows or any(_is_aligned(lines, other) for other in others)


def _is_near(level: float, lines: Sequence[Line], reach: float) -> bool:
    return any(abs(line.baseline - level) <= reach for line in lines)


def _is_aligned(lines: Sequence[Line], others: Sequence[Line]) -> bool:
    """Nearly every line of one has its neighbour in the other, on the same baseline."""
    if min(len(lines), len(others)) < ALIGNED * max(len(lines), len(others), 2):
        return False
    reach = SAME_ROW * lines[0].box.height
    return sum(_is_near(line.baseline, others, reach) for line in lines) >= ALIGNED * max(
        len(lines), len(others)
    )


def _row(pieces: list[Piece]) -> Iterator[Block]:
    """A whole text is read before what stands right of it; lines beside each other are read across."""
    cells: list[Piece] = []
    for column in separated(pieces, low=0, high=2, gap=0.0):
        if _is_column_of_cells(column, cells):
            cells += column
            continue
        yield from _across(cells)
        cells = []
        yield from (piece.block for piece in sorted(column, key=lambda piece: piece.edges.top))
    yield from _across(cells)


def _is_column_of_cells(column: list[Piece], cells: list[Piece]) -> bool:
    """Single lines, or several cells of which each begins beside one that stands left of it."""
    if all(len(piece.block.lines) == 1 for piece in column):
        return True
    labels = [cell.block.lines[0] for cell in cells]
    firsts = [piece.block.lines[0] for piece in column]
    return len(column) > 1 and all(
        _is_near(first.baseline, labels, SAME_ROW * first.box.height) for first in firsts
    )


def _across(cells: list[Piece]) -> Iterator[Block]:
    """What begins on one baseline is one row, whatever column it stands in."""
    rows: list[list[tuple[Line, ...]]] = []
    for lines in sorted((cell.block.lines for cell in cells), key=lambda lines: lines[0].baseline):
        if not rows or lines[0].baseline - rows[-1][0][0].baseline > SAME_ROW * lines[0].box.height:
            rows.append([])
        rows[-1].append(lines)
    for row in rows:
        row.sort(key=lambda lines: lines[0].box.left)
        flat = tuple(line for lines in row for line in lines)
        yield Block(flat, around([line.box for line in flat]))

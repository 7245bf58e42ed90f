"""Columns of running text, as papers have them. A stripe that is empty in all of them by chance ends none, a table
or figure within one belongs to it, and what stands over or under them in one line, as running titles do, is no part."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from quire.reading.domain.piece import Piece, separated
from quire.reading.domain.text_box import SAME_ROW

Span = tuple[float, float]

# A gutter narrower than this, in points, is the space between words.
GUTTER = 8.0
# A line of so many words is one of a text; a column of text has so many of them, and most of its words in them.
LINE_WORDS = 5
LINES_MIN = 6
TEXT_SHARE = 0.5
# In multiples of its height: how far a running title stands off the text, at least.
TITLE_GAP = 1.2
# So much higher than the lines of the text is a heading's line.
HEADING = 1.15


def are_columns(columns: list[list[Piece]]) -> bool:
    return len(columns) > 1 and all(map(_is_running, columns))


def _is_running(column: list[Piece]) -> bool:
    counts = [len(line.words) for piece in column for line in piece.block.lines]
    texts = [count for count in counts if count >= LINE_WORDS]
    return len(texts) >= LINES_MIN and sum(texts) >= TEXT_SHARE * sum(counts)


def whole_columns(stripes: list[list[Piece]]) -> list[list[Piece]]:
    """Stripes from top to bottom, those put together that are of the same columns. One that begins level on both sides
    is a row of a table, and begins anew."""
    whole: list[list[Piece]] = []
    run: list[list[Piece]] = []
    spans: list[Span] = []
    for stripe in stripes:
        columns = _columns(stripe)
        together = _united([*spans, *map(_span, columns)])
        is_other = len(together) == 1 or 1 < len(spans) < len(together)
        if run and (is_other or _is_level(columns)):
            run, heading = _heading_apart(run)
            whole += [*_put_together(run), *heading]
            run, together = [], _united(list(map(_span, columns)))
        run.append(stripe)
        spans = together
    return whole + _put_together(run)


def _heading_apart(run: list[list[Piece]]) -> tuple[list[list[Piece]], list[list[Piece]]]:
    """A heading below all columns belongs to what comes under them, and is no part of the first one."""
    *rest, last = run
    if not rest or len(last) > 1 or len(last[0].block.lines) > 1:
        return run, []
    heights = [line.box.height for stripe in rest for piece in stripe for line in piece.block.lines]
    return (rest, [last]) if last[0].block.box.height > HEADING * median(heights) else (run, [])


def _span(column: list[Piece]) -> Span:
    return min(piece.edges.left for piece in column), max(piece.edges.right for piece in column)


def _united(spans: list[Span]) -> list[Span]:
    """Those that no gutter parts are one."""
    united: list[Span] = []
    for left, right in sorted(spans):
        if united and left < united[-1][1] + GUTTER:
            united[-1] = (united[-1][0], max(united[-1][1], right))
        else:
            united.append((left, right))
    return united


def _is_level(columns: list[list[Piece]]) -> bool:
    firsts = [min(column, key=_baseline).block.lines[0] for column in columns]
    reach = SAME_ROW * firsts[0].box.height
    return len(firsts) > 1 and all(abs(line.baseline - firsts[0].baseline) <= reach for line in firsts)


def _baseline(piece: Piece) -> float:
    return piece.block.lines[0].baseline


def _put_together(run: list[list[Piece]]) -> list[list[Piece]]:
    together = sorted((piece for stripe in run for piece in stripe), key=lambda piece: piece.number)
    return [together] if len(run) > 1 and are_columns(_columns(together)) else run


def _columns(pieces: list[Piece]) -> list[list[Piece]]:
    return separated(pieces, low=0, high=2, gap=GUTTER)


def without_edges(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """A running title in two pieces, the text, what stands under it; each as far as there is one."""
    stripes = separated(pieces, low=1, high=3, gap=0.0)
    begin, end = 0, len(stripes)
    if end > 1 and _is_title(stripes[0], _bottom(stripes[0]), _top(stripes[1])):
        begin = 1
    if end > begin + 1 and _is_title(stripes[-1], _bottom(stripes[-2]), _top(stripes[-1])):
        end -= 1
    if begin:
        yield stripes[0]
    yield sorted((piece for stripe in stripes[begin:end] for piece in stripe), key=lambda piece: piece.number)
    if end < len(stripes):
        yield stripes[-1]


def _is_title(stripe: list[Piece], above: float, below: float) -> bool:
    lines = [piece.block.lines for piece in stripe]
    is_row = len(lines) > 1 and all(len(one) == 1 for one in lines)
    return is_row and below - above >= TITLE_GAP * lines[0][0].box.height


def _top(stripe: list[Piece]) -> float:
    return min(piece.edges.top for piece in stripe)


def _bottom(stripe: list[Piece]) -> float:
    return max(piece.edges.bottom for piece in stripe)

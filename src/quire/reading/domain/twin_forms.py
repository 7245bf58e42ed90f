"""Forms side by side that ask the same, as the parties to a contract sign: `Name: …` beside `Name: …`. Each is read
from its top to its bottom; a table has no such rows."""

from __future__ import annotations

from collections.abc import Iterator

from quire.reading.domain.piece import Piece, separated

# Of rows that ask both the same, and of all rows between.
TWINS_MIN = 3
TWINS_SHARE = 0.5


def whole_forms(stripes: list[list[Piece]]) -> Iterator[list[Piece]]:
    """Stripes from top to bottom; of such forms the left one, then the right one."""
    run: list[tuple[list[Piece], list[Piece]]] = []
    for stripe in [*stripes, []]:
        columns = separated(stripe, low=0, high=2, gap=0.0)
        sides = (columns[0], columns[1]) if len(columns) == 2 else None
        if run and (sides is None or not _are_level(run[0], sides)):
            yield from _read(run)
            run = []
        if sides is not None:
            run.append(sides)
        elif stripe:
            yield stripe


def _are_level(above: tuple[list[Piece], list[Piece]], below: tuple[list[Piece], list[Piece]]) -> bool:
    """They begin under each other, on both sides."""
    return all(
        abs(one[0].edges.left - other[0].edges.left) < one[0].block.lines[0].box.height
        for one, other in zip(above, below, strict=True)
    )


def _read(run: list[tuple[list[Piece], list[Piece]]]) -> Iterator[list[Piece]]:
    asked = [_asked(left) for left, right in run if _asked(left) == _asked(right)]
    if len(set(asked) - {""}) >= TWINS_MIN and len(asked) >= TWINS_SHARE * len(run):
        yield [piece for left, _ in run for piece in left]
        yield [piece for _, right in run for piece in right]
    else:
        yield from ([*left, *right] for left, right in run)


def _asked(pieces: list[Piece]) -> str:
    """What stands before the colon, if it is words."""
    text = pieces[0].block.lines[0].text.partition(":")[0].strip()
    return text if any(map(str.isalpha, text)) and not any(map(str.isdigit, text)) else ""

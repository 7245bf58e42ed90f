"""From words in the order of the file to lines and blocks. A gap wider than text has makes two lines of one, as
columns and cells need; lines that stand under each other closely make a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quire.reading.domain.page import Block, Box, Line, Word

# In multiples of the size of the text.
COLUMN_GAP = 1.6
LINE_GAP = 0.75
SIZE_CHANGE = 0.2
SAME_BASELINE = 0.3
INDENT = 3.0


def line_of(words: list[Word], baseline: float, is_hyphenated: bool) -> Line:
    """Words on one baseline, from left to right."""
    box = Box(words[0][1], min([word[2] for word in words]), words[-1][3], max([word[4] for word in words]))
    return Line(tuple(words), box, baseline, is_hyphenated)


def blocks_of(lines: Iterable[Line]) -> list[Block]:
    """Lines in the order of the file; a block ends where the next line stands elsewhere or looks different."""
    return [
        Block(tuple(group), Box(
            min([line.box[0] for line in group]),
            min([line.box[1] for line in group]),
            max([line.box[2] for line in group]),
            max([line.box[3] for line in group]),
        ))
        for group in _groups(lines)
    ]  # fmt: skip


def _groups(lines: Iterable[Line]) -> Iterator[list[Line]]:
    group: list[Line] = []
    for line in lines:
        if group and not _continues(group[-1], line):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _continues(above: Line, below: Line) -> bool:
    upper, lower = above.box, below.box
    height = upper.bottom - upper.top
    if abs((lower.bottom - lower.top) - height) > SIZE_CHANGE * height:
        return False
    step = below.baseline - above.baseline
    if not SAME_BASELINE * height < step < (1 + LINE_GAP) * height:
        return False
    if abs(lower.left - upper.left) < INDENT * height:
        return True
    overlap = min(lower.right, upper.right) - max(lower.left, upper.left)
    return overlap > 0.5 * max(lower.right - lower.left, upper.right - upper.left)

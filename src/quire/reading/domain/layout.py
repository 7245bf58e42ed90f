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


class LineDraft:
    """A run of words on one baseline. `size` is the text's height in the direction of the page."""

    __slots__ = ("baseline", "hyphenated", "size", "words")

    def __init__(self, word: Word, baseline: float, size: float) -> None:
        self.words = [word]
        self.baseline = baseline
        self.size = size
        self.hyphenated = False

    def takes(self, word: Word, size: float) -> bool:
        gap = word[1] - self.words[-1][3]
        reach = self.size if self.size > size else size
        return -0.5 * reach < gap < COLUMN_GAP * reach

    def finished(self) -> Line:
        words = self.words
        box = Box(words[0][1], min([w[2] for w in words]), words[-1][3], max([w[4] for w in words]))
        return Line(tuple(words), box, self.baseline, self.hyphenated)


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

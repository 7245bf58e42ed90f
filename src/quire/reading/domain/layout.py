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
# In points.
HANGING = 0.5


class LineDraft:
    """Gathers words that follow each other on one baseline; `lines` are those that ended."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._words: list[Word] = []
        self._baseline = self._edge = self._reach = 0.0

    def add(self, word: Word, baseline: float, size: float) -> None:
        words = self._words
        if words:
            gap = word[1] - self._edge
            if not -0.5 * self._reach < gap < COLUMN_GAP * self._reach:
                self.end()
                words = self._words
        if not words:
            self._baseline = baseline
        words.append(word)
        self._edge, self._reach = word[3], size

    def add_level(self, words: list[Word], baseline: float) -> None:
        """A line of their own; all of them are as high as the first."""
        if self._words:
            self.end()
        first, last = words[0], words[-1]
        box = tuple.__new__(Box, (first[1], first[2], last[3], first[4]))
        self.lines.append(tuple.__new__(Line, (tuple(words), box, baseline, False)))

    def end(self, *, is_hyphenated: bool = False) -> None:
        words = self._words
        if words:
            top, bottom = min([word[2] for word in words]), max([word[4] for word in words])
            box = Box(words[0][1], top, words[-1][3], bottom)
            self.lines.append(Line(tuple(words), box, self._baseline, is_hyphenated))
            self._words = []


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
        if group and not continues(group[-1], line):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def continues(above: Line, below: Line) -> bool:
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
    return overlap > 0.5 * max(lower.right - lower.left, upper.right - upper.left) or _hangs(above, below)


def _hangs(above: Line, below: Line) -> bool:
    """Below a word within the line, as the second line of a cell does whose row is set tight: `01 3.00 Support at`."""
    left = below.box.left
    return any(abs(word[1] - left) < HANGING for word in above.words)

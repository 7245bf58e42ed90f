"""From words in the order of the file to lines and blocks. A gap wider than text has makes two lines of one, as
columns and cells need; lines that stand under each other closely make a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from quire.reading.domain.mark import is_mark
from quire.reading.domain.page import Block, Box, Line, Word

# In multiples of the size of the text.
COLUMN_GAP = 1.6
LINE_GAP = 0.75
SIZE_CHANGE = 0.2
SAME_BASELINE = 0.3
INDENT = 3.0
# What begins nearer to the end of a line, and shares so much of its height, is of that line.
TIGHT_GAP = 0.5
SAME_STRIPE = 0.5
# In points.
HANGING = 0.5


class LineDraft:
    """Gathers words that follow each other on one baseline; `lines` are those that ended."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._words: list[Word] = []
        self._tight: list[int] = []
        self._baseline = self._edge = self._reach = 0.0

    def add(self, word: Word, baseline: float, size: float, *, is_tight: bool = False) -> None:
        words = self._words
        if words:
            gap = word[1] - self._edge
            if not -0.5 * self._reach < gap < COLUMN_GAP * self._reach:
                self.end()
                words = self._words
        if not words:
            self._baseline = baseline
        elif is_tight:
            self._tight.append(len(words))
        words.append(word)
        self._edge, self._reach = word[3], size

    def add_level(self, words: list[Word], baseline: float) -> None:
        """A line of their own; all of them are as high as the first."""
        if self._words:
            self.end()
        first, last = words[0], words[-1]
        box = tuple.__new__(Box, (first[1], first[2], last[3], first[4]))
        self.lines.append(tuple.__new__(Line, (tuple(words), box, baseline, False, ())))

    def end(self, *, is_hyphenated: bool = False) -> None:
        words = self._words
        if words:
            top, bottom = min([word[2] for word in words]), max([word[4] for word in words])
            box = Box(words[0][1], top, words[-1][3], bottom)
            self.lines.append(Line(tuple(words), box, self._baseline, is_hyphenated, tuple(self._tight)))
            self._words, self._tight = [], []


def whole_lines(lines: Iterable[Line]) -> list[Line]:
    """Lines in the order of the file, those put together that an exponent, an index or a note's mark took apart."""
    whole: list[Line] = []
    for line in lines:
        if whole and _is_right_after(whole[-1].box, line.box) and not whole[-1].is_hyphenated:
            whole[-1] = _put_together(whole[-1], line)
        else:
            whole.append(line)
    return whole


def _is_right_after(before: Box, after: Box) -> bool:
    gap = after[0] - before[2]
    height, other = before[3] - before[1], after[3] - after[1]
    lower, higher = (height, other) if height < other else (other, height)
    if not -TIGHT_GAP * lower < gap < TIGHT_GAP * higher:
        return False
    return min(before[3], after[3]) - max(before[1], after[1]) > SAME_STRIPE * lower


def _put_together(one: Line, other: Line) -> Line:
    box, beside = one.box, other.box
    edges = Box(box.left, min(box.top, beside.top), beside.right, max(box.bottom, beside.bottom))
    baseline = one.baseline if box.height >= beside.height else other.baseline
    tight = (*one.tight, *(len(one.words) + number for number in other.tight))
    return Line((*one.words, *other.words), edges, baseline, other.is_hyphenated, tight)


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
        # The number of the next clause, left of where their texts stand.
        return lower.right > upper.left or not is_mark(below.text)
    overlap = min(lower.right, upper.right) - max(lower.left, upper.left)
    return overlap > 0.5 * max(lower.right - lower.left, upper.right - upper.left) or _hangs(above, below)


def _hangs(above: Line, below: Line) -> bool:
    """Below a word within the line, as the second line of a cell does whose row is set tight: `01 3.00 Support at`."""
    left = below.box.left
    return any(abs(word[1] - left) < HANGING for word in above.words)

"""Texts in boxes side by side, which spreadsheets draw row by row across both: each is put together again before
anybody asks for the order. Tables and lists of terms stay as they are; their rows are what belongs together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from quire.reading.domain.layout import SAME_BASELINE, continues
from quire.reading.domain.page import Block, Box, Line, around

# A text has at least so many words a line; fewer are cells, page numbers, labels.
TEXT_WORDS = 2.6
# In multiples of the size of the text.
TIGHT = 1.45
ALIGNED_LEFT = 1.5
SAME_ROW = 0.4
# More columns than two are a table.
BESIDE_MAX = 1


def whole_boxes(blocks: Sequence[Block]) -> list[Block]:
    rows = _Rows(blocks)
    following = _following(blocks, rows)
    if not following:
        return list(blocks)
    chains = _chains(len(blocks), following)
    of_block = {number: chain for chain in chains for number in chain}
    texts = {
        chain for chain in chains if is_text([line for number in chain for line in blocks[number].lines])
    }
    whole = dict(enumerate(blocks))
    for chain in chains:
        if len(chain) > 1 and chain in texts and _is_beside_texts(blocks, chain, rows, of_block, texts):
            whole[chain[0]] = _joined([whole.pop(number) for number in chain])
    return [whole[number] for number in sorted(whole)]


def is_text(lines: Sequence[Line]) -> bool:
    return sum(len(line.words) for line in lines) >= TEXT_WORDS * len(lines)


class _Rows:
    """The lines of a page by their baselines, each with the number of its block."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        lines = [
            (line.baseline, number, line.box) for number, block in enumerate(blocks) for line in block.lines
        ]
        self._lines = sorted(lines)
        self._baselines = [baseline for baseline, _, _ in self._lines]

    def beside(self, number: int, line: Line) -> Iterator[tuple[int, Box]]:
        """What stands on the same baseline in other blocks."""
        reach = SAME_ROW * line.box.height
        begin = bisect_left(self._baselines, line.baseline - reach)
        end = bisect_right(self._baselines, line.baseline + reach)
        for place in range(begin, end):
            _, other, box = self._lines[place]
            if other != number:
                yield other, box


def _joined(parts: list[Block]) -> Block:
    return Block(tuple(line for part in parts for line in part.lines), around([part.box for part in parts]))


def _chains(count: int, following: dict[int, int]) -> list[tuple[int, ...]]:
    """Each block in one of them, those that begin earlier in the file first."""
    followers = set(following.values())
    chains = []
    for first in range(count):
        if first not in followers:
            chain = [first]
            while chain[-1] in following:
                chain.append(following[chain[-1]])
            chains.append(tuple(chain))
    return chains


def _following(blocks: Sequence[Block], rows: _Rows) -> dict[int, int]:
    """Which block goes on with a block's text, tight below its last line."""
    order = sorted(range(len(blocks)), key=lambda number: blocks[number].lines[0].baseline)
    baselines = [blocks[number].lines[0].baseline for number in order]
    following = {}
    for above, block in enumerate(blocks):
        last = block.lines[-1]
        right_of_last = _few_beside(rows, above, last)
        if right_of_last is None:
            continue
        begin = bisect_right(baselines, last.baseline + SAME_BASELINE * last.box.height)
        end = bisect_right(baselines, last.baseline + TIGHT * last.box.height)
        for below in order[begin:end]:
            if _goes_on(blocks, above, below, right_of_last, rows):
                following[above] = below
                break
    return following


def _goes_on(blocks: Sequence[Block], above: int, below: int, right_of_last: list[Box], rows: _Rows) -> bool:
    last, first = blocks[above].lines[-1], blocks[below].lines[0]
    if abs(first.box.left - last.box.left) > ALIGNED_LEFT * last.box.height or not continues(last, first):
        return False
    right_of_first = _few_beside(rows, below, first)
    if right_of_first is None:
        return False
    # What stands beside one of them and above or below the other is no box of its own.
    return not any(_overlap(box, blocks[below].box) for box in right_of_last) and not any(
        _overlap(box, blocks[above].box) for box in right_of_first
    )


def _few_beside(rows: _Rows, number: int, line: Line) -> list[Box] | None:
    """None: too many for a text in a box, however many that are."""
    boxes = [box for _, box in islice(rows.beside(number, line), BESIDE_MAX + 1)]
    return boxes if len(boxes) <= BESIDE_MAX else None


def _is_beside_texts(
    blocks: Sequence[Block],
    chain: tuple[int, ...],
    rows: _Rows,
    of_block: dict[int, tuple[int, ...]],
    texts: set[tuple[int, ...]],
) -> bool:
    """Something stands beside it, and all of that are texts too."""
    neighbours = {
        of_block[n] for number in chain for line in blocks[number].lines for n, _ in rows.beside(number, line)
    }
    return bool(neighbours) and neighbours <= texts


def _overlap(one: Box, other: Box) -> bool:
    return one.left < other.right and other.left < one.right

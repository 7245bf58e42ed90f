"""Words that stand twice in one place: some programs write what was filled in into the page, and leave the field."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from quire.reading.domain.page import Box, Line, Word, around

# In points.
SAME_PLACE = 1.5


def without_doubled_words(lines: Iterable[Line]) -> Iterator[Line]:
    """Of equal words in one place the first."""
    seen: defaultdict[str, list[Word]] = defaultdict(list)
    for line in lines:
        kept = [word for word in line.words if not _stands_among(word, seen[word.text])]
        for word in kept:
            seen[word.text].append(word)
        if len(kept) == len(line.words):
            yield line
        elif kept:
            box = around([Box(*word[1:5]) for word in kept])
            yield line._replace(words=tuple(kept), box=box, is_hyphenated=False, tight=())


def _stands_among(word: Word, others: list[Word]) -> bool:
    return any(
        abs(word.left - other.left) < SAME_PLACE > abs(word.right - other.right)
        and min(word.bottom, other.bottom) > max(word.top, other.top)
        for other in others
    )

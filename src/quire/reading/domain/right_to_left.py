"""Hebrew, Arabic and their like: from the letters of a row as they stand on the page to its words as they are read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

LETTER = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
# What keeps its order inside a word that is read backwards: a number, a letter with its marks.
UNIT = re.compile(
    r"\d[\d.,:/]*\d|.[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]*", re.DOTALL
)
STOPS = ".,:;!?\u060c\u061b\u061f"
TURNED = str.maketrans("()[]{}", ")(][}{")


class Glyph(NamedTuple):
    text: str
    left: float
    right: float
    place: int
    """Where the file has it."""
    token: int
    """Those that the parser has in one word have the same."""


class Written(NamedTuple):
    text: str
    left: float
    right: float
    first: int


def words_of(glyphs: Iterable[Glyph], gap: float) -> list[list[Written]]:
    """Pieces of the row from left to right, wherever a wide gap parts it, each with its words in the order of
    reading. `gap` parts words, four times as much those that the parser takes for one, ten times as much pieces."""
    words = _words(sorted(glyphs, key=_left), gap)
    pieces: list[list[list[Glyph]]] = []
    for word in words:
        if not pieces or word[0].left - pieces[-1][-1][-1].right > 10 * gap:
            pieces.append([])
        pieces[-1].append(word)
    return [_read(piece) for piece in pieces]


def _left(glyph: Glyph) -> float:
    return glyph.left


def _words(glyphs: Sequence[Glyph], gap: float) -> list[list[Glyph]]:
    words: list[list[Glyph]] = []
    for glyph in glyphs:
        if not words or not _are_one(words[-1][-1], glyph, gap):
            words.append([])
        words[-1].append(glyph)
    return words


def _are_one(before: Glyph, after: Glyph, gap: float) -> bool:
    return after.left - before.right <= (4 * gap if before.token == after.token else gap)


def _read(words: list[list[Glyph]]) -> list[Written]:
    seen = ["".join(glyph.text for glyph in word) for word in words]
    is_backward = _is_backward(seen)
    written = [
        Written(_spelt(text, is_backward), word[0].left, word[-1].right, min(glyph.place for glyph in word))
        for text, word in zip(seen, words, strict=True)
    ]
    ways = _ways(seen, is_backward)
    order: list[list[Written]] = []
    for way, run in groupby(zip(ways, written, strict=True), key=_way):
        words_of_run = [word for _, word in run]
        order.append(words_of_run[::-1] if way else words_of_run)
    return [word for run_read in (order[::-1] if is_backward else order) for word in run_read]


def _way(item: tuple[bool, Written]) -> bool:
    return item[0]


def _is_backward(seen: list[str]) -> bool:
    """A sentence ends where its row does; without a stop at one end most of the letters tell."""
    ends_left, ends_right = seen[0][0] in STOPS, seen[-1][-1] in STOPS
    if ends_left != ends_right:
        return ends_left
    letters = [character for text in seen for character in text if character.isalpha()]
    return 2 * sum(1 for letter in letters if LETTER.match(letter)) > len(letters)


def _ways(seen: list[str], is_backward: bool) -> list[bool]:
    """Which words are read from the right. Numbers and signs go with the words on both sides of them if these agree,
    and with the row if not."""
    own = [bool(LETTER.search(text)) if any(map(str.isalpha, text)) else None for text in seen]
    before = _last_known(own, is_backward)
    after = _last_known(own[::-1], is_backward)[::-1]
    return [one if one == other else is_backward for one, other in zip(before, after, strict=True)]


def _last_known(ways: list[bool | None], at_first: bool) -> list[bool]:
    return list(accumulate(ways, lambda last, way: last if way is None else way, initial=at_first))[1:]


def _spelt(seen: str, is_backward: bool) -> str:
    if not LETTER.search(seen):
        # The parser turns the brackets round that it takes for a part of the text beside them.
        begin = seen[:1].translate(TURNED) if seen[:1] in ")]}" else seen[:1]
        end = seen[-1:].translate(TURNED) if seen[-1:] in "([{" else seen[-1:]
        return begin + seen[1:-1] + end if len(seen) > 1 else seen
    if is_backward:
        return _backward(seen)
    within = [number for number, sign in enumerate(seen) if sign.isalnum() or unicodedata.combining(sign)]
    first, after = (within[0], within[-1] + 1) if within else (0, len(seen))
    return seen[:first] + _backward(seen[first:after]) + seen[after:]


def _backward(text: str) -> str:
    return "".join(reversed(UNIT.findall(text)))

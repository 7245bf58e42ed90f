"""Accents that a file draws as glyphs of their own over their letters, as TeX does with its old fonts: `f¨ur` is für.
PDFium gives them before or after the letter, or at the end of the row. Accents that stand over nothing stay."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import pypdfium2_raw as raw

from quire.reading.infrastructure.pdfium import library

COMBINING = {
    "`": "\u0300", "\u00b4": "\u0301", "\u02c6": "\u0302", "\u02dc": "\u0303", "\u00af": "\u0304",
    "\u02d8": "\u0306", "\u02d9": "\u0307", "\u00a8": "\u0308", "\u02da": "\u030a", "\u02dd": "\u030b",
    "\u02c7": "\u030c", "\u00b8": "\u0327", "\u02db": "\u0328",
}  # fmt: skip
ACCENT = re.compile(f"[{''.join(COMBINING)}]")
DOTTED = {"\u0131": "i", "\u0237": "j"}
# In points: letters whose baselines differ by no more may be the accent's.
LEVEL = 4.0
# How far off the middle of its letter an accent stands, in parts of the letter's width: slanted ones stand off.
OFF_MIDDLE = 0.5
# In parts of a letter's width: nearer letters are of one word.
TIGHT = 0.25
# In characters: PDFium leaves less between letters that an accent came between.
GAP_MAX = 12
# PDFium writes this in the place of the hyphen of a broken word.
BROKEN = "\ufffe"


class Place(NamedTuple):
    left: float
    right: float
    level: float


class Letters:
    """The characters of a page, and what became of each: one with its accent, nothing, or what it was."""

    def __init__(self, handle: int, text: str, index: Callable[[int], int] | None) -> None:
        self._handle = handle
        self._text = text
        self._at = list(range(len(text))) if index is None else [index(place) for place in range(len(text))]
        self._new = list(text)
        self._rect, self._x, self._y = raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
        self._seen: dict[int, Place] = {}

    def with_accents(self) -> tuple[str, Callable[[int], int]]:
        for found in ACCENT.finditer(self._text):
            letter = self._letter_of(found.start())
            if letter is not None:
                self._join(found.start(), letter)
        places = [at for at, new in zip(self._at, self._new, strict=True) for _ in new]
        return "".join(self._new), places.__getitem__

    def _letter_of(self, accent: int) -> int | None:
        for near in (accent + 1, accent - 1, accent - 2, accent + 2):
            if self._is_over(accent, near):
                return near
        return self._far_letter(accent) if self._is_stray(accent) else None

    def _is_stray(self, accent: int) -> bool:
        """PDFium puts a space of its own before an accent that it moved."""
        return accent > 0 and (self._text[accent - 1] in "\r\n" or self._is_space(accent - 1))

    def _far_letter(self, accent: int) -> int | None:
        here = self._place(accent)
        middle, row = (here.left + here.right) / 2, here.level // LEVEL
        for level in (row, row - 1, row + 1, row - 2):
            lefts, letters = self._rows.get(level, ([], []))
            last = bisect_right(lefts, middle)
            for letter in letters[max(0, last - 2) : last]:
                if self._is_over(accent, letter):
                    return letter
        return None

    @cached_property
    def _rows(self) -> dict[float, tuple[list[float], list[int]]]:
        """All letters of the page by their baseline, from left to right. Once a page, and only if an accent strayed."""
        rows: defaultdict[float, list[tuple[float, int]]] = defaultdict(list)
        for number, character in enumerate(self._text):
            if character.isalpha() and character not in COMBINING:
                place = self._place(number)
                rows[place.level // LEVEL].append((place.left, number))
        return {
            level: ([left for left, _ in sorted(row)], [number for _, number in sorted(row)])
            for level, row in rows.items()
        }

    def _is_over(self, accent: int, letter: int) -> bool:
        if not 0 <= letter < len(self._text) or len(self._new[letter]) != 1:
            return False
        if not self._new[letter].isalpha() or self._text[letter] in COMBINING:
            return False
        over, under = self._place(accent), self._place(letter)
        middle = (over.left + over.right) / 2
        width = under.right - under.left
        return (
            abs(middle - (under.left + under.right) / 2) <= OFF_MIDDLE * width
            and abs(over.level - under.level) <= LEVEL
        )

    def _join(self, accent: int, letter: int) -> None:
        base = DOTTED.get(self._text[letter], self._text[letter])
        self._new[letter] = unicodedata.normalize("NFC", base + COMBINING[self._text[accent]])
        self._new[accent] = ""
        self._close_gap(accent)

    def _close_gap(self, accent: int) -> None:
        """What PDFium put beside an accent that it moved: a space within a word, a hyphen that is one no more."""
        before, after = self._beside(accent, -1), self._beside(accent, 1)
        if before is None or after is None:
            return
        if self._text[after] in "\r\n":
            if self._new[before] == "-" and self._new[before - 1].isalpha():
                self._new[before] = BROKEN
        elif after - before > 2 and self._are_tight(before, after):
            self._new[before + 1 : after] = [""] * (after - before - 1)

    def _beside(self, accent: int, step: int) -> int | None:
        """The next character that is there to stay."""
        end = accent + step * GAP_MAX
        for number in range(accent + step, min(max(end, -1), len(self._text)), step):
            if self._new[number] and not self._is_space(number):
                return number
        return None

    def _is_space(self, number: int) -> bool:
        return self._text[number] == " " and self._is_generated(number)

    def _is_generated(self, number: int) -> bool:
        return bool(library.is_generated(self._handle, self._at[number]) == 1)

    def _are_tight(self, before: int, after: int) -> bool:
        one, other = self._place(before), self._place(after)
        reach = TIGHT * max(one.right - one.left, other.right - other.left)
        return abs(one.level - other.level) <= LEVEL and -reach * 2 < other.left - one.right < reach

    def _place(self, number: int) -> Place:
        place = self._seen.get(number)
        if place is None:
            at = self._at[number]
            library.loose_box(self._handle, at, ctypes.addressof(self._rect))
            library.char_origin(self._handle, at, ctypes.addressof(self._x), ctypes.addressof(self._y))
            place = self._seen[number] = Place(self._rect.left, self._rect.right, self._y.value)
        return place

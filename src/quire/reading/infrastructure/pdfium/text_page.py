"""The lines of one page: PDFium's text in one call, then two boxes and a font per word, never one per character."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import pypdfium2_raw as raw

from quire.reading.domain.layout import COLUMN_GAP, line_of
from quire.reading.domain.page import Line, TextStyle, Word
from quire.reading.infrastructure.pdfium import library
from quire.reading.infrastructure.pdfium.font import UNKNOWN, Font, font_of
from quire.reading.infrastructure.pdfium.view import OFF_PAGE, View

# PDFium writes this where a word was broken at the end of its line, in the place of the hyphen.
BROKEN = "\ufffe"
TOKEN = re.compile(rf"([\r\n]+)|([^\s{BROKEN}\x02]+)([{BROKEN}\x02]*)")
# Of the text's size: less is kerning, more is a space.
WORD_GAP = 0.1
# Raised or lowered by more than this: an exponent, an index, the mark of a note.
RAISED = 0.15
LIGATURES = str.maketrans({"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl",
                           "\ufb05": "st", "\ufb06": "st"})  # fmt: skip
LIGATURE = re.compile("[\ufb00-\ufb06]")


class StyleBook:
    """Every look of a document, numbered."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, float, bool, bool], int] = {}

    def number(self, font: Font, size: float) -> int:
        key = (font.family, round(size, 1), font.is_bold, font.is_italic)
        return self._numbers.setdefault(key, len(self._numbers))

    def styles(self) -> tuple[TextStyle, ...]:
        return tuple(TextStyle(*key) for key in self._numbers)


class TextPage:
    """Written for speed: one pass over the words, each with as few calls and objects as it can do with."""

    def __init__(self, handle: int, view: View, book: StyleBook) -> None:
        self._handle = handle
        self._view = view
        self._book = book
        self._fonts: dict[int | None, Font] = {}
        self._object: int | None = -1
        self._is_plain = True
        self._size = 0.0
        self._style = 0
        self._rise = self._fall = 0.0
        self._real = ctypes.c_float()
        self._to_real = ctypes.byref(self._real)
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._to_x, self._to_y = ctypes.byref(self._x), ctypes.byref(self._y)
        self._rect = raw.FS_RECTF()
        self._to_rect = ctypes.byref(self._rect)
        self._matrix = raw.FS_MATRIX()
        self._to_matrix = ctypes.byref(self._matrix)

    def lines(self) -> list[Line]:
        """A gap wider than text has makes two lines of one, as columns and cells need."""
        lines: list[Line] = []
        words: list[Word] = []
        edge = reach = level = 0.0
        for run in self._runs():
            if run is None:
                if words:
                    lines.append(line_of(words, level, False))
                    words = []
                continue
            start, end, text, broken = run
            word, baseline = self._word(start, end, text, broken)
            if word is None:
                continue
            left = word[1]
            if words and not (left - edge < COLUMN_GAP * reach and edge - left < 0.5 * reach):
                lines.append(line_of(words, level, False))
                words = []
            if not words:
                level = baseline
            words.append(word)
            edge, reach = word[3], self._size
            if broken:
                lines.append(line_of(words, level, True))
                words = []
        if words:
            lines.append(line_of(words, level, False))
        return lines

    def _runs(self) -> Iterator[tuple[int, int, str, bool] | None]:
        """First and last character of every word, its text, whether it is broken off; None ends a line."""
        text, index = self._text()
        handle, owner_of = self._handle, library.text_object
        for token in TOKEN.finditer(text):
            new_line, characters, broken = token.groups()
            if new_line:
                yield None
                continue
            start, end = index(token.start(2)), index(token.end(2) - 1)
            owner = owner_of(handle, start)
            if owner != self._object:
                self._look_at(owner)
            if start == end or owner == owner_of(handle, end):
                yield start, end, characters, broken != ""
            else:
                yield from self._parted(start, characters, broken != "")

    def _parted(self, start: int, text: str, broken: bool) -> Iterator[tuple[int, int, str, bool]]:
        """A word in pieces, as kerning makes them: PDFium overlooks spaces between such, and a piece of another
        style set tight beside it is a word still."""
        cuts = [0, *self._cuts(start, len(text)), len(text)]
        for begin, end in pairwise(cuts):
            if begin:
                self._look_at(library.text_object(self._handle, start + begin))
            yield start + begin, start + end - 1, text[begin:end], broken and end == len(text)

    def _cuts(self, start: int, length: int) -> list[int]:
        handle, rect, to_rect, loose_box = self._handle, self._rect, self._to_rect, library.loose_box
        x, y, to_x, to_y, char_origin = self._x, self._y, self._to_x, self._to_y, library.char_origin
        gap, rise = WORD_GAP * self._size, RAISED * self._size
        loose_box(handle, start, to_rect)
        char_origin(handle, start, to_x, to_y)
        edge, level, cuts = rect.right, y.value, []
        for place in range(1, length):
            char_origin(handle, start + place, to_x, to_y)
            if x.value - edge > gap or not -rise < y.value - level < rise:
                cuts.append(place)
            level = y.value
            loose_box(handle, start + place, to_rect)
            edge = rect.right
        return cuts

    def _text(self) -> tuple[str, Callable[[int], int]]:
        """The text and where its characters are found: mostly the same place."""
        count = max(0, raw.FPDFText_CountChars(self._handle_pointer()))
        space = (ctypes.c_ushort * (2 * count + 2))()
        written = raw.FPDFText_GetText(self._handle_pointer(), 0, count, space)
        text = bytes(memoryview(space).cast("B")[: 2 * max(0, written - 1)]).decode("utf-16-le", "replace")
        if len(text) == count:
            return text, int
        return text, lambda position: int(library.char_index(self._handle, position))

    def _handle_pointer(self) -> raw.FPDF_TEXTPAGE:
        return ctypes.cast(self._handle, raw.FPDF_TEXTPAGE)

    def _word(self, first: int, last: int, text: str, broken: bool) -> tuple[Word | None, float]:
        view = self._view
        if self._is_plain:
            library.char_origin(self._handle, first, self._to_x, self._to_y)
            # The hyphen of a broken word is the character after its last.
            library.loose_box(self._handle, last + broken, self._to_rect)
            baseline = view.top - self._y.value
            left, right = self._x.value - view.left, self._rect.right - view.left
            top, bottom = baseline - self._rise, baseline + self._fall
        else:
            left, top, right, bottom = self._turned_box(first, last)
            baseline = bottom
        if not (OFF_PAGE < left <= right < view.far_right and top > OFF_PAGE and bottom < view.far_bottom):
            return None, baseline
        confidence = 1.0
        if not (text.isascii() and text.isprintable()):
            text, confidence = _cleaned(text)
            if not text:
                return None, baseline
        if broken:
            text += "-"
        return tuple.__new__(Word, (text, left, top, right, bottom, self._style, confidence)), baseline

    def _look_at(self, owner: int | None) -> None:
        """What the words of one text object have in common."""
        self._object = owner
        font, scale, is_level = UNKNOWN, 0.0, False
        if owner:
            font = self._font(library.object_font(owner))
            library.object_matrix(owner, self._to_matrix)
            library.object_size(owner, self._to_real)
            matrix = self._matrix
            scale = abs(self._real.value) * math.hypot(matrix.c, matrix.d)
            is_level = abs(matrix.b) <= 1e-3 * abs(matrix.a) and matrix.a > 0 and matrix.d > 0
        self._size = scale
        self._rise, self._fall = font.ascent * scale, -font.descent * scale
        self._style = self._book.number(font, scale)
        self._is_plain = self._view.is_upright and is_level

    def _font(self, handle: int | None) -> Font:
        font = self._fonts.get(handle)
        if font is None:
            font = self._fonts[handle] = font_of(handle)
        return font

    def _turned_box(self, first: int, last: int) -> tuple[float, float, float, float]:
        """Text that does not run from left to right in the file: around its characters as drawn."""
        edges = [ctypes.c_double() for _ in range(4)]
        places = [ctypes.byref(edge) for edge in edges]
        corners: list[tuple[float, float]] = []
        for index in range(first, last + 1):
            library.char_box(self._handle, index, *places)
            left, right, bottom, top = (edge.value for edge in edges)
            corners += [self._view.seen(left, bottom), self._view.seen(right, top)]
        across, down = [x for x, _ in corners], [y for _, y in corners]
        return min(across), min(down), max(across), max(down)


def _cleaned(text: str) -> tuple[str, float]:
    """Ligatures spelt out, soft hyphens and what no document may hold left out; and how much of it has a meaning."""
    if LIGATURE.search(text):
        text = text.translate(LIGATURES)
    if text.isprintable():
        return text, 1.0
    kept = [c for c in text if c.isprintable() or ("\ue000" <= c <= "\uf8ff")]
    known = sum(1 for c in kept if not "\ue000" <= c <= "\uf8ff" and c != "\ufffd")
    return "".join(kept), round(known / len(kept), 2) if kept else 0.0

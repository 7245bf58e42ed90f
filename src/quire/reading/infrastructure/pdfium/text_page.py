"""The lines of one page: PDFium's text in one call, then two boxes and a font per word, never one per character."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterator

import pypdfium2_raw as raw

from quire.reading.domain.layout import LineDraft
from quire.reading.domain.page import Line, TextStyle, Word
from quire.reading.infrastructure.pdfium import library
from quire.reading.infrastructure.pdfium.font import UNKNOWN, Font, font_of
from quire.reading.infrastructure.pdfium.view import View

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
    def __init__(self, handle: int, view: View, book: StyleBook) -> None:
        self._handle = handle
        self._view = view
        self._book = book
        self._fonts: dict[int | None, Font] = {}
        self._object: int | None = None
        self._font = UNKNOWN
        self._is_plain = True
        self._size = 0.0
        self._real = ctypes.c_float()
        self._to_real = ctypes.byref(self._real)
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._to_x, self._to_y = ctypes.byref(self._x), ctypes.byref(self._y)
        self._rect = raw.FS_RECTF()
        self._to_rect = ctypes.byref(self._rect)
        self._matrix = raw.FS_MATRIX()
        self._to_matrix = ctypes.byref(self._matrix)

    def lines(self) -> Iterator[Line]:
        draft: LineDraft | None = None
        for start, end, text, broken in self._runs():
            if not text:
                if draft:
                    yield draft.finished()
                draft = None
                continue
            placed = self._word(start, end, text, broken)
            if placed is None:
                continue
            word, baseline, size = placed
            if draft is not None and draft.takes(word, size):
                draft.words.append(word)
            else:
                if draft:
                    yield draft.finished()
                draft = LineDraft(word, baseline, size)
            if broken:
                draft.hyphenated = True
                yield draft.finished()
                draft = None
        if draft:
            yield draft.finished()

    def _runs(self) -> Iterator[tuple[int, int, str, bool]]:
        """First and last character of every word, its text, whether it is broken off; an empty text ends a line."""
        text, index = self._text()
        for token in TOKEN.finditer(text):
            new_line, characters, broken = token.groups()
            if new_line:
                yield 0, 0, "", False
                continue
            start, end = index(token.start(2)), index(token.end(2) - 1)
            if library.text_object(self._handle, start) == library.text_object(self._handle, end):
                yield start, end, characters, bool(broken)
            else:
                yield from self._parted(start, characters, bool(broken))

    def _parted(self, start: int, text: str, broken: bool) -> Iterator[tuple[int, int, str, bool]]:
        """A word in pieces, as kerning makes them: PDFium overlooks spaces between such, and a piece of another
        style set tight beside it is a word still."""
        handle, rect, to_rect, loose_box = self._handle, self._rect, self._to_rect, library.loose_box
        begin, edge, low, height = 0, math.inf, math.nan, 0.0
        for place in range(len(text)):
            loose_box(handle, start + place, to_rect)
            library.char_origin(handle, start + place, self._to_x, self._to_y)
            left, right, level, size = self._x.value, rect.right, self._y.value, rect.top - rect.bottom
            if left - edge > WORD_GAP * height or abs(level - low) > RAISED * height:
                yield start + begin, start + place - 1, text[begin:place], False
                begin = place
            edge, low, height = right, level, size
        yield start + begin, start + len(text) - 1, text[begin:], broken

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

    def _word(self, first: int, last: int, text: str, broken: bool) -> tuple[Word, float, float] | None:
        owner = library.text_object(self._handle, first)
        if owner != self._object:
            self._look_at(owner)
        view, font, size = self._view, self._font, self._size
        if self._is_plain:
            library.char_origin(self._handle, first, self._to_x, self._to_y)
            library.loose_box(self._handle, last, self._to_rect)
            baseline = view.top - self._y.value
            box = (
                self._x.value - view.left,
                baseline - font.ascent * size,
                self._rect.right - view.left,
                baseline - font.descent * size,
            )
        else:
            box = self._turned_box(first, last)
            baseline = box[3]
        if not (box[0] <= box[2] and view.holds(box)):
            return None
        confidence = 1.0
        if not text.isascii():
            text, confidence = _cleaned(text)
        elif not text.isprintable():
            text = "".join([c for c in text if c.isprintable()])
        if broken:
            text += "-"
        if not text:
            return None
        return Word(text, *box, self._book.number(font, size), confidence), baseline, size

    def _look_at(self, owner: int | None) -> None:
        self._object = owner
        if not owner:
            self._font, self._is_plain = UNKNOWN, False
            return
        handle = library.object_font(owner)
        font = self._fonts.get(handle)
        if font is None:
            font = self._fonts[handle] = font_of(handle)
        self._font = font
        library.object_matrix(owner, self._to_matrix)
        matrix = self._matrix
        library.object_size(owner, self._to_real)
        self._size = abs(self._real.value) * math.hypot(matrix.c, matrix.d)
        slant = abs(matrix.b) > 1e-3 * abs(matrix.a) or matrix.a <= 0 or matrix.d <= 0
        self._is_plain = self._view.is_upright and not slant

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

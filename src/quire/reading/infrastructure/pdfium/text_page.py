"""The lines of one page: PDFium's text in one call, then two boxes and a font per word, never one per character."""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pypdfium2_raw as raw

from quire.reading.domain.layout import COLUMN_GAP, LineDraft
from quire.reading.domain.page import Box, Line, Word, around
from quire.reading.domain.right_to_left import LETTER as BACKWARD
from quire.reading.domain.right_to_left import Glyph, Written, words_of
from quire.reading.infrastructure.pdfium import library
from quire.reading.infrastructure.pdfium.accents import ACCENT, Letters
from quire.reading.infrastructure.pdfium.clean_text import ODD, cleaned
from quire.reading.infrastructure.pdfium.font import UNKNOWN, Font, font_of
from quire.reading.infrastructure.pdfium.style_book import StyleBook
from quire.reading.infrastructure.pdfium.view import OFF_PAGE, View, rotation_for

# PDFium writes this where a word was broken at the end of its line, in the place of the hyphen.
BROKEN = "\ufffe"
ROW = re.compile(r"[^\s](?:[^\r\n]*[^\s])?")
WORD = re.compile(r"\S+")
TOKEN = re.compile(rf"([^\s{BROKEN}\x02]+)([{BROKEN}\x02]*)")
# In a file a hyphen that is drawn is one, whatever it was before the line was broken.
SOFT_HYPHEN = "\xad"
# PDFium overlooks the white space between signs in some fonts.
SIGNS = re.compile(r"[^\w\s]{2,}")
# Dots that lead from a title to the number of its page begin a word of their own.
LEADER = "....."
LED_TOKEN = re.compile(rf"((?:[^\s{BROKEN}\x02.]|\.(?!\.{{4}}))+|\.[^\s{BROKEN}\x02]*)([{BROKEN}\x02]*)")
# Of the text's size: less is kerning, more is a space.
WORD_GAP = 0.1
# Raised or lowered by more than this: an exponent, an index, the mark of a note.
RAISED = 0.15
# A letter of the same size that is raised or lowered by less is but set off.
LOWERED = 0.3
# So much larger or smaller is another look: small capitals, a comma after a word in type of its own.
OTHER_SIZE = 0.05


class Cut(NamedTuple):
    """Where a piece of a word begins: the number of its character in the word, and that character's place on the page.
    `drop` is how far it reaches below where it begins."""

    number: int
    first: int
    is_tight: bool = False
    drop: float = 0.0


class TextPage:
    """Written for speed: one pass over the words, each with as few calls and objects as it can do with."""

    def __init__(self, handle: int, view: View, book: StyleBook) -> None:
        self._handle = handle
        self._view = view
        self._book = book
        self.turned: list[Line] = []
        """Found by `lines`, and not among them: they cross the rows of the page, or stand on their heads."""
        self._turns: Counter[int] = Counter()
        self._length = self._turn = 0
        self._fonts: dict[int | None, Font] = {}
        # The text object of the last word, and the same once more if its words stand upright on one baseline.
        self._object: int | None = -1
        self._plain: int | None = -1
        self._size = self._baseline = self._top = self._bottom = 0.0
        self._style = 0
        self._real = ctypes.c_float()
        self._to_real = ctypes.addressof(self._real)
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._to_x, self._to_y = ctypes.addressof(self._x), ctypes.addressof(self._y)
        self._rect = raw.FS_RECTF()
        self._to_rect = ctypes.addressof(self._rect)
        self._matrix = raw.FS_MATRIX()
        self._to_matrix = ctypes.addressof(self._matrix)

    def lines(self) -> list[Line]:
        """A gap wider than text has makes two lines of one, as columns and cells need."""
        text, index = self._text()
        self._length = len(text)
        if SOFT_HYPHEN in text:
            text = self._with_hyphens(text, index)
        if ACCENT.search(text):
            text, index = Letters(self._handle, text, index).with_accents()
        is_led = LEADER in text
        has_backward = BACKWARD.search(text) is not None
        is_simple = (
            index is None
            and not is_led
            and not has_backward
            and self._view.is_upright
            and ODD.search(text) is None
        )
        tokens = LED_TOKEN if is_led else TOKEN
        draft = LineDraft()
        for row in ROW.finditer(text):
            start, end = row.span()
            if is_simple and self._is_one_object(start, end - 1):
                self._add_simple(draft, text, start, end)
            elif self._is_turned(start if index is None else index(start)):
                self._turns[self._turn] += end - start
                self._add_turned(text, start, end, index)
            elif has_backward and BACKWARD.search(text, start, end):
                self._add_backward(draft, text, start, end, index)
            else:
                self._add_any(draft, tokens.finditer(text, start, end), index)
            draft.end()
        return draft.lines

    def _with_hyphens(self, text: str, index: Callable[[int], int] | None) -> str:
        letters = list(text)
        for found in re.finditer(SOFT_HYPHEN, text):
            place = found.start()
            left, right = self._edges(place if index is None else index(place))
            if right > left:
                letters[place] = "-"
        return "".join(letters)

    def upright_rotation(self) -> int:
        """By which most of the page's text stands upright, once `lines` were read."""
        turn, count = max(self._turns.items(), key=lambda item: item[1], default=(0, 0))
        return turn if 2 * count > self._length else self._view.rotation

    def _is_turned(self, first: int) -> bool:
        """Text that runs up, down or backwards as the page is seen: stamps, margins, all of a page on its side."""
        owner = library.text_object(self._handle, first)
        if owner != self._object:
            self._look_at(owner, first)
        return bool(owner) and owner != self._plain and self._turn != self._view.rotation

    def _add_turned(self, text: str, start: int, end: int, index: Callable[[int], int] | None) -> None:
        words: list[Word] = []
        for token in WORD.finditer(text, start, end):
            first, last = token.start(), token.end() - 1
            if index is not None:
                first, last = index(first), index(last)
            word, _ = self._word(first, last, token[0], broken=False)
            if word is not None:
                words.append(word)
        if words:
            box = around([Box(*word[1:5]) for word in words])
            self.turned.append(Line(tuple(words), box, box.bottom, is_hyphenated=False))

    def _add_backward(
        self, draft: LineDraft, text: str, start: int, end: int, index: Callable[[int], int] | None
    ) -> None:
        """A row with words that are read from the right: the parser has them in an order of its own."""
        places = _places(start, end, index)
        glyphs = [
            Glyph(text[at], *self._edges(places[at - start]), places[at - start], token.start())
            for token in WORD.finditer(text, start, end)
            for at in range(*token.span())
        ]
        draft.end()
        for piece in words_of(glyphs, WORD_GAP * self._size):
            words = [word for written in piece if (word := self._written(written)) is not None]
            if words:
                box = around([Box(*word[1:5]) for word in words])
                draft.lines.append(Line(tuple(words), box, self._baseline, is_hyphenated=False))

    def _written(self, written: Written) -> Word | None:
        owner = library.text_object(self._handle, written.first)
        if owner != self._object:
            self._look_at(owner, written.first)
        if owner == self._plain:
            return self._checked(written.text, written.left, self._top, written.right, self._bottom)
        _, top, _, bottom = self._turned_box(written.first, written.first)
        return self._checked(written.text, written.left, top, written.right, bottom)

    def _ends(self, first: int, last: int) -> tuple[float, float]:
        """The left edge of one character and the right edge of another: the quick way where most words are."""
        if not self._view.is_upright:
            return self._edges(first)[0], self._edges(last)[1]
        rect, shift = self._rect, self._view.left
        library.loose_box(self._handle, first, self._to_rect)
        left = rect.left - shift
        library.loose_box(self._handle, last, self._to_rect)
        return left, rect.right - shift

    def _edges(self, place: int) -> tuple[float, float]:
        """Of one character, as the page is read."""
        rect, view = self._rect, self._view
        library.loose_box(self._handle, place, self._to_rect)
        if view.is_upright:
            return rect.left - view.left, rect.right - view.left
        one, other = view.seen(rect.left, rect.bottom)[0], view.seen(rect.right, rect.top)[0]
        return min(one, other), max(one, other)

    def _origin(self, place: int) -> tuple[float, float]:
        library.char_origin(self._handle, place, self._to_x, self._to_y)
        return self._view.seen(self._x.value, self._y.value)

    def _is_one_object(self, first: int, last: int) -> bool:
        """Text objects follow each other: what begins and ends in one is in it whole."""
        owner = library.text_object(self._handle, first)
        if owner != self._object:
            self._look_at(owner, first)
        return bool(owner == self._plain and owner == library.text_object(self._handle, last))

    def _add_simple(self, draft: LineDraft, text: str, start: int, end: int) -> None:
        """Everything but the edges of the words is known."""
        handle, rect, to_rect, loose_box = self._handle, self._rect, self._to_rect, library.loose_box
        new, shift, top, bottom, style = tuple.__new__, self._view.left, self._top, self._bottom, self._style
        words: list[Word] = []
        edge, widest = math.inf, COLUMN_GAP * self._size
        for found in WORD.finditer(text, start, end):
            first, after = found.span()
            loose_box(handle, first, to_rect)
            left = rect.left - shift
            if after - first > 1:
                loose_box(handle, after - 1, to_rect)
            if left - edge > widest:
                draft.add_level(words, self._baseline)
                words = []
            edge = rect.right - shift
            if edge < left:
                # Written from the right to the left, as drawings are: several words with no space between them.
                if words:
                    draft.add_level(words, self._baseline)
                return self._add_any(draft, TOKEN.finditer(text, first, end), None)
            words.append(new(Word, (found[0], left, top, edge, bottom, style, 1.0)))
        return draft.add_level(words, self._baseline)

    def _add_any(
        self, draft: LineDraft, tokens: Iterator[re.Match[str]], index: Callable[[int], int] | None
    ) -> None:
        for token in tokens:
            first, after = token.span(1)
            broken = token.end() > after
            for word, baseline, is_tight in self._words(first, after, token[1], broken, index):
                draft.add(word, baseline, self._size, is_tight=is_tight)
            if broken:
                draft.end(is_hyphenated=True)

    def _words(
        self, start: int, end: int, text: str, broken: bool, index: Callable[[int], int] | None
    ) -> Iterator[tuple[Word, float, bool]]:
        """Any word, in as many pieces as it is; with each, whether it is set tight against the one before."""
        first, last = (start, end - 1) if index is None else (index(start), index(end - 1))
        owner = library.text_object(self._handle, first)
        if owner != self._object:
            self._look_at(owner, first)
        is_one = first == last or owner == library.text_object(self._handle, last)
        if is_one and (text.isalnum() or not SIGNS.fullmatch(text)):
            word, baseline = self._word(first, last, text, broken)
            if word is not None:
                yield word, baseline, False
                return
        for cut, until, piece in self._parted(_places(start, end, index), text):
            word, baseline = self._word(cut.first, until, piece, broken and until == last)
            if word is not None:
                yield (
                    word._replace(bottom=word.bottom + cut.drop) if cut.drop else word,
                    baseline,
                    cut.is_tight,
                )

    def _parted(self, places: Sequence[int], text: str) -> Iterator[tuple[Cut, int, str]]:
        """A word in pieces, as kerning makes them: PDFium overlooks spaces between such. A piece of another size is a
        piece of its own, for a word has one look and one height."""
        cuts = self._cuts(places)
        ends = [*(cut.number for cut in cuts[1:]), len(text)]
        for cut, end in zip(cuts, ends, strict=True):
            if cut.number:
                self._look_at(library.text_object(self._handle, cut.first), cut.first)
            yield cut, places[end - 1], text[cut.number : end]

    def _cuts(self, places: Sequence[int]) -> list[Cut]:
        gap, rise = WORD_GAP * self._size, RAISED * self._size
        edge, (begin, level) = self._edges(places[0])[1], self._origin(places[0])
        begun, cuts = level, [Cut(0, places[0])]
        for number, place in enumerate(places[1:], 1):
            x, y = self._origin(place)
            is_raised = not -rise < y - level < rise
            is_lowered = is_raised and self._is_lowered(places[number - 1], place, y - level)
            is_word = x - edge > gap or x < begin - gap or (is_raised and not is_lowered)
            if is_word or self._changes_size(places[number - 1], place):
                cuts.append(Cut(number, place, is_tight=not is_word))
                begin, begun = x, y
            elif is_lowered:
                cuts[-1] = cuts[-1]._replace(drop=max(cuts[-1].drop, y - begun))
            level, edge = y, self._edges(place)[1]
        return cuts

    def _changes_size(self, before: int, place: int) -> bool:
        if library.text_object(self._handle, before) == library.text_object(self._handle, place):
            return False
        one, other = self._size_at(before), self._size_at(place)
        return abs(one - other) > OTHER_SIZE * max(one, other)

    def _is_lowered(self, before: int, place: int, step: float) -> bool:
        """A letter as large as the one before it, set a little lower or higher, as in TeX's name: no exponent."""
        return abs(step) < LOWERED * self._size and self._size_at(before) == self._size_at(place)

    def _size_at(self, character: int) -> float:
        owner = library.text_object(self._handle, character)
        if not owner:
            return 0.0
        library.char_matrix(self._handle, character, self._to_matrix)
        library.object_size(owner, self._to_real)
        return round(abs(self._real.value) * math.hypot(self._matrix.c, self._matrix.d), 1)

    def _text(self) -> tuple[str, Callable[[int], int] | None]:
        """The text, and how to find its characters where they are not simply in the same place."""
        count = max(0, raw.FPDFText_CountChars(self._handle_pointer()))
        space = (ctypes.c_ushort * (2 * count + 2))()
        written = raw.FPDFText_GetText(self._handle_pointer(), 0, count, space)
        length = max(0, written - 1)
        text = bytes(memoryview(space).cast("B")[: 2 * length]).decode("utf-16-le", "replace")
        if len(text) != length:
            # PDFium counts the halves of a character beyond the first plane, such as an emoji, as two.
            text = "".join(map(chr, space[:length]))
        if length == count:
            return text, None
        return text, lambda position: int(library.char_index(self._handle, position))

    def _handle_pointer(self) -> raw.FPDF_TEXTPAGE:
        return ctypes.cast(self._handle, raw.FPDF_TEXTPAGE)

    def _word(self, first: int, last: int, text: str, broken: bool) -> tuple[Word | None, float]:
        if self._object == self._plain:
            # The hyphen of a broken word is the character after its last.
            left, right = self._ends(first, last + broken)
            baseline, top, bottom = self._baseline, self._top, self._bottom
        else:
            left, top, right, bottom = self._turned_box(first, last)
            baseline = bottom
        return self._checked(text, left, top, right, bottom, broken=broken), baseline

    def _checked(
        self, text: str, left: float, top: float, right: float, bottom: float, *, broken: bool = False
    ) -> Word | None:
        view = self._view
        if not (left > OFF_PAGE < top and left <= right < view.far_right and bottom < view.far_bottom):
            return None
        confidence = 1.0
        if ODD.search(text):
            text, confidence = cleaned(text)
            if not text:
                return None
        if broken:
            text += "-"
        return Word(text, left, top, right, bottom, self._style, confidence)

    def _look_at(self, owner: int | None, character: int) -> None:
        """What the words of one text object have in common: their look, and where they stand if they stand upright."""
        self._object, self._plain = owner, -1
        font, self._size = UNKNOWN, 0.0
        if owner:
            font = self._font(library.object_font(owner))
            library.char_matrix(self._handle, character, self._to_matrix)
            library.object_size(owner, self._to_real)
            matrix = self._matrix
            self._size = abs(self._real.value) * math.hypot(matrix.c, matrix.d)
            self._turn = rotation_for(matrix.a, matrix.b)
            if self._turn == self._view.rotation and _is_straight(matrix):
                self._stand(font, character)
                self._plain = owner
        self._style = self._book.number(font, self._size)

    def _stand(self, font: Font, character: int) -> None:
        _, self._baseline = self._origin(character)
        self._top = self._baseline - font.ascent * self._size
        self._bottom = self._baseline - font.descent * self._size

    def _font(self, handle: int | None) -> Font:
        font = self._fonts.get(handle)
        if font is None:
            font = self._fonts[handle] = font_of(handle, self._book.outlines)
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


def _is_straight(matrix: raw.FS_MATRIX) -> bool:
    """Neither slanted nor mirrored: letters stand at right angles to their line, heads up."""
    along, across = (matrix.a, matrix.b) if abs(matrix.a) >= abs(matrix.b) else (matrix.b, matrix.a)
    return bool(abs(across) <= 1e-3 * abs(along) and matrix.a * matrix.d - matrix.b * matrix.c > 0)


def _places(start: int, end: int, index: Callable[[int], int] | None) -> Sequence[int]:
    return range(start, end) if index is None else [index(place) for place in range(start, end)]

"""What a font says of itself, once per page: a handle's address may be another font's on the next."""

from __future__ import annotations

import ctypes
import re
from typing import NamedTuple

from quire.reading.infrastructure.pdfium import library

NAME_MAX_BYTES = 256
ITALIC_FLAG = 1 << 6
BOLD_FLAG = 1 << 18
SUBSET = re.compile(r"^[A-Z]{6}\+")
# TeX's families say it in their own way, and URW's Nimbus in its own: `Medi`.
BOLD = re.compile(
    r"bold|black|heavy|semibold|demi|-Medi(?!um)|^(CM|SF|EC|LA|T2)(B|CSS?BX|TTB|SSBX)", re.IGNORECASE
)
ITALIC = re.compile(r"italic|oblique|slanted|^(CM|SF|EC|LA)(TI|SL|ITT|BXTI)", re.IGNORECASE)
STYLE_PART = re.compile(r"[-,](?=[A-Z])|(?<=[a-z])MT$|PS(?=MT)")


# Ascender and descender of the fonts that no file needs to bring, from their published metrics; the same under the
# names that Windows gives to fonts of the same widths.
HELVETICA, TIMES, COURIER = (0.718, -0.207), (0.683, -0.217), (0.629, -0.157)
STANDARD = {"Helvetica": HELVETICA, "Times": TIMES, "Courier": COURIER,
            "Arial": HELVETICA, "TimesNewRoman": TIMES, "CourierNew": COURIER}  # fmt: skip


# What tells the outlines of a document's fonts apart: name, size of the embedded file, ascent and descent.
Outlines = tuple[str, int, float, float]


class Font(NamedTuple):
    """`ascent` and `descent` in parts of the font's size, as the page's own writers mean them."""

    family: str
    is_bold: bool
    is_italic: bool
    ascent: float
    descent: float


# For a font that gives no heights: room for most accents, and no further from what other readers assume, or from the
# letters themselves, than by two points in running text.
ASSUMED = (0.8, -0.25)
# PDFium cuts what it measures to thousandths.
ROUNDING = 0.0013
# Drawn as every letter is that a font does not have.
NO_LETTER = "\0"
UNKNOWN = Font("", False, False, 0.95, -0.35)
EXTENT_MAX = 1.9


def font_of(handle: int | None, known: dict[Outlines, bool]) -> Font:
    """`known` is one document's, and learns: outlines take long to measure."""
    if not handle:
        return UNKNOWN
    name = SUBSET.sub("", _name(handle))
    flags = max(0, library.font_flags(handle))
    family = STYLE_PART.split(name)[0]
    is_bold = bool(BOLD.search(name)) or bool(flags & BOLD_FLAG)
    is_italic = bool(ITALIC.search(name)) or bool(flags & ITALIC_FLAG)
    extent = None if library.font_is_embedded(handle) == 1 else STANDARD.get(family.replace(" ", ""))
    return Font(family, is_bold, is_italic, *(extent or _extent(handle, name, known)))


def _name(handle: int) -> str:
    space = ctypes.create_string_buffer(NAME_MAX_BYTES)
    size = library.font_name(handle, space, NAME_MAX_BYTES)
    if not 0 < size <= NAME_MAX_BYTES:
        return ""
    text = space.raw[: size - 1].decode("utf-8", "replace")
    return "".join(character for character in text if character.isprintable())


def _extent(handle: int, name: str, known: dict[Outlines, bool]) -> tuple[float, float]:
    value = ctypes.c_float()
    library.font_ascent(handle, 1.0, ctypes.byref(value))
    ascent = value.value
    library.font_descent(handle, 1.0, ctypes.byref(value))
    descent = value.value
    if ascent < ASSUMED[0] and descent < 0:
        outlines = (name, _data_size(handle), ascent, descent)
        if outlines not in known:
            known[outlines] = _is_measured(handle, ascent, descent)
        if known[outlines]:
            return ASSUMED
    # Broken descriptors give zero or the height of their tallest glyph; these bounds are other readers', too.
    return (
        ascent if 0 < ascent < EXTENT_MAX else UNKNOWN.ascent,
        descent if -EXTENT_MAX < descent < 0 else UNKNOWN.descent,
    )


def _data_size(handle: int) -> int:
    size = ctypes.c_size_t()
    library.font_data(handle, None, 0, ctypes.addressof(size))
    return size.value


def _is_measured(handle: int, ascent: float, descent: float) -> bool:
    """Whether PDFium took them from the glyphs whose codes are those of `A` and `g`, for want of any in the file: too
    low for letters with accents, and in a font that has other glyphs there, or none, no heights of its letters."""
    if abs(descent - _reach(handle, NO_LETTER)[0]) < ROUNDING:
        return True
    is_capital = abs(ascent - _reach(handle, "A")[1]) < ROUNDING
    return is_capital and abs(descent - _reach(handle, "g")[0]) < ROUNDING


def _reach(handle: int, letter: str) -> tuple[float, float]:
    """How far its outline goes down and up, in parts of the font's size."""
    path = library.glyph_path(handle, ord(letter), 1.0)
    x, y = ctypes.c_float(), ctypes.c_float()
    to_x, to_y = ctypes.addressof(x), ctypes.addressof(y)
    ends = [0.0]
    for number in range(library.path_length(path) if path else 0):
        library.segment_point(library.path_segment(path, number), to_x, to_y)
        ends.append(y.value)
    return min(ends), max(ends)

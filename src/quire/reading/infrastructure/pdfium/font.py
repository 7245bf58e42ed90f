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


class Font(NamedTuple):
    """`ascent` and `descent` in parts of the font's size, as the page's own writers mean them."""

    family: str
    is_bold: bool
    is_italic: bool
    ascent: float
    descent: float


UNKNOWN = Font("", False, False, 0.95, -0.35)
EXTENT_MAX = 1.9


def font_of(handle: int | None) -> Font:
    if not handle:
        return UNKNOWN
    name = SUBSET.sub("", _name(handle))
    flags = max(0, library.font_flags(handle))
    family = STYLE_PART.split(name)[0]
    is_bold = bool(BOLD.search(name)) or bool(flags & BOLD_FLAG)
    is_italic = bool(ITALIC.search(name)) or bool(flags & ITALIC_FLAG)
    extent = None if library.font_is_embedded(handle) == 1 else STANDARD.get(family.replace(" ", ""))
    return Font(family, is_bold, is_italic, *(extent or _extent(handle)))


def _name(handle: int) -> str:
    space = ctypes.create_string_buffer(NAME_MAX_BYTES)
    size = library.font_name(handle, space, NAME_MAX_BYTES)
    if not 0 < size <= NAME_MAX_BYTES:
        return ""
    text = space.raw[: size - 1].decode("utf-8", "replace")
    return "".join(character for character in text if character.isprintable())


def _extent(handle: int) -> tuple[float, float]:
    value = ctypes.c_float()
    library.font_ascent(handle, 1.0, ctypes.byref(value))
    ascent = value.value
    library.font_descent(handle, 1.0, ctypes.byref(value))
    descent = value.value
    # Broken descriptors give zero or the height of their tallest glyph; these bounds are other readers', too.
    return (
        ascent if 0 < ascent < EXTENT_MAX else UNKNOWN.ascent,
        descent if -EXTENT_MAX < descent < 0 else UNKNOWN.descent,
    )

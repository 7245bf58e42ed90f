"""PDFium itself: started once, with no fonts of the machine, and the few calls made per word bound the quick way.

The quick way keeps the interpreter's lock, so these calls belong into a process with one thread.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import pypdfium2_raw as raw


@cache
def start_library() -> None:
    """Fonts of the machine would make the same file read differently elsewhere, and are files to open."""
    no_paths = (ctypes.POINTER(ctypes.c_char) * 1)()
    config = raw.FPDF_LIBRARY_CONFIG(
        version=2, m_pUserFontPaths=no_paths, m_pIsolate=None, m_v8EmbedderSlot=0
    )
    raw.FPDF_InitLibraryWithConfig(config)


def _bound(function: Any, result: Any, *arguments: Any) -> Callable[..., Any]:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


_handle, _int, _pointer = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p

loose_box = _bound(raw.FPDFText_GetLooseCharBox, _int, _handle, _int, _pointer)
text_object = _bound(raw.FPDFText_GetTextObject, _handle, _handle, _int)
char_box = _bound(raw.FPDFText_GetCharBox, _int, _handle, _int, _pointer, _pointer, _pointer, _pointer)
char_index = _bound(raw.FPDFText_GetCharIndexFromTextIndex, _int, _handle, _int)
char_origin = _bound(raw.FPDFText_GetCharOrigin, _int, _handle, _int, _pointer, _pointer)
is_generated = _bound(raw.FPDFText_IsGenerated, _int, _handle, _int)
object_size = _bound(raw.FPDFTextObj_GetFontSize, _int, _handle, _pointer)
object_font = _bound(raw.FPDFTextObj_GetFont, _handle, _handle)
char_matrix = _bound(raw.FPDFText_GetMatrix, _int, _handle, _int, _pointer)
font_ascent = _bound(raw.FPDFFont_GetAscent, _int, _handle, ctypes.c_float, _pointer)
font_descent = _bound(raw.FPDFFont_GetDescent, _int, _handle, ctypes.c_float, _pointer)
font_is_embedded = _bound(raw.FPDFFont_GetIsEmbedded, _int, _handle)
font_flags = _bound(raw.FPDFFont_GetFlags, _int, _handle)
font_name = _bound(raw.FPDFFont_GetBaseFontName, ctypes.c_size_t, _handle, _pointer, ctypes.c_size_t)
font_data = _bound(raw.FPDFFont_GetFontData, _int, _handle, _pointer, ctypes.c_size_t, _pointer)
glyph_path = _bound(raw.FPDFFont_GetGlyphPath, _handle, _handle, ctypes.c_uint32, ctypes.c_float)
path_length = _bound(raw.FPDFGlyphPath_CountGlyphSegments, _int, _handle)
path_segment = _bound(raw.FPDFGlyphPath_GetGlyphPathSegment, _handle, _handle, _int)
segment_point = _bound(raw.FPDFPathSegment_GetPoint, _int, _handle, _pointer, _pointer)
page_objects = _bound(raw.FPDFPage_CountObjects, _int, _handle)
page_object = _bound(raw.FPDFPage_GetObject, _handle, _handle, _int)
object_type = _bound(raw.FPDFPageObj_GetType, _int, _handle)
object_bounds = _bound(raw.FPDFPageObj_GetBounds, _int, _handle, _pointer, _pointer, _pointer, _pointer)

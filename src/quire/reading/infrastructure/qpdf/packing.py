"""How a stream of drawing is packed, and whether it can be unpacked, whole and within bounds."""

from __future__ import annotations

import zlib
from typing import Any

import pikepdf

from quire.reading.domain.errors import ReadingTooCostlyError

FLATE = (["/FlateDecode"], ["/Fl"])
# What text and lines are packed by; the others pack pictures and sound.
KNOWN = frozenset({
    "/FlateDecode", "/LZWDecode", "/ASCII85Decode", "/ASCIIHexDecode", "/RunLengthDecode", "/Crypt",
    "/Fl", "/LZW", "/A85", "/AHx", "/RL",
})  # fmt: skip
FILTERS_MAX = 16
# PDFium gives up a little above this, and says nothing.
UNPACKED_MAX_BYTES = 16 * 1024 * 1024
INFLATED_MAX_BYTES = 256 * 1024 * 1024
# All of it was there by then. Some writers compute it wrongly, or leave it out.
WRONG_CHECKSUM = "incorrect data check"


class NotUnpackedError(Exception):
    """In words that go on after "page 3 cannot be unpacked"."""


def check_unpacks(stream: Any) -> None:
    filters = _filters(stream)
    if not filters:
        return
    if len(filters) > FILTERS_MAX:
        raise NotUnpackedError(f"it is packed {len(filters)} times over")
    if unknown := [name for name in filters if name not in KNOWN]:
        raise NotUnpackedError(f"nothing is drawn by {unknown[0][1:40]}")
    if filters in FLATE and stream.get("/DecodeParms") is None:
        _check_inflates(stream.read_raw_bytes())
    else:
        _check_decodes(stream)


def _filters(stream: Any) -> list[str]:
    found = stream.get("/Filter")
    names = [] if found is None else list(found) if isinstance(found, pikepdf.Array) else [found]
    if not all(isinstance(name, pikepdf.Name) for name in names):
        raise NotUnpackedError("it does not say how it is packed")
    return [str(name) for name in names]


def _check_inflates(packed: bytes) -> None:
    """By zlib itself, a tenth of the time that qpdf takes; nearly all pages are packed so."""
    inflating = zlib.decompressobj()
    try:
        size_bytes = len(inflating.decompress(packed, INFLATED_MAX_BYTES))
    except zlib.error as error:
        if WRONG_CHECKSUM in str(error):
            return
        raise NotUnpackedError("its bytes are damaged") from None
    if inflating.eof or not packed.strip():
        return
    if size_bytes >= INFLATED_MAX_BYTES:
        raise ReadingTooCostlyError(f"a page draws by more than {INFLATED_MAX_BYTES} bytes")
    raise NotUnpackedError("its bytes end too early")


def _check_decodes(stream: Any) -> None:
    try:
        size_bytes = len(stream.read_bytes(decode_level=pikepdf.StreamDecodeLevel.specialized))
    except pikepdf.PikepdfError as error:
        check_memory(error)
        raise NotUnpackedError("its bytes are damaged") from None
    if size_bytes > UNPACKED_MAX_BYTES:
        raise ReadingTooCostlyError(f"a page draws by more than {UNPACKED_MAX_BYTES} bytes")


def check_memory(error: pikepdf.PikepdfError) -> None:
    """qpdf calls it a fault of the document when its memory ends."""
    if "bad_alloc" in str(error):
        raise MemoryError from None

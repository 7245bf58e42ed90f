"""How a stream is packed, and whether it can be unpacked, whole and within bounds, one filter after the other."""

from __future__ import annotations

import zlib
from typing import Any

import pikepdf

from quire.reading.domain.errors import ReadingTooCostlyError

FLATE = frozenset({"/FlateDecode", "/Fl"})
# What marks the end of each.
ENDS = {"/ASCII85Decode": b"~", "/A85": b"~", "/ASCIIHexDecode": b">", "/AHx": b">"}
RUN_LENGTHS = frozenset({"/RunLengthDecode", "/RL"})
# What text and lines are packed by; the others pack pictures and sound, or are more than PDFium undoes.
KNOWN = FLATE | ENDS.keys() | RUN_LENGTHS | {"/LZWDecode", "/LZW"}
# Says of a stream that it is not encrypted, where others are.
PLAIN = ["/Crypt"]
FILTERS_MAX = 16
# Of runs PDFium gives up a little above this, and says nothing.
RUNS_MAX_BYTES = 16 * 1024 * 1024
UNPACKED_MAX_BYTES = 256 * 1024 * 1024
ZLIB_HEAD_BYTES = 2
# How zlib ends what it was told to write out before it goes on; some writers leave it at that.
FLUSHED = b"\0\0\xff\xff"


class NotUnpackedError(Exception):
    """In words that go on after "page 3 cannot be unpacked"."""


def check_unpacks(pdf: pikepdf.Pdf, stream: Any) -> None:
    filters = _filters(stream)
    if not filters or filters == PLAIN:
        return
    if len(filters) > FILTERS_MAX:
        raise NotUnpackedError(f"it is packed {len(filters)} times over")
    if unknown := [name for name in filters if name not in KNOWN]:
        raise NotUnpackedError(f"it is packed by {unknown[0][1:40]}, which is not read here")
    data = stream.read_raw_bytes()
    steps = list(zip(filters, _parameters(stream, len(filters)), strict=True))
    for number, (name, parameters) in enumerate(steps, 1):
        data = _unpacked(pdf, name, parameters, data, is_last=number == len(steps))


def _filters(stream: Any) -> list[str]:
    found = stream.get("/Filter")
    names = [] if found is None else list(found) if isinstance(found, pikepdf.Array) else [found]
    if not all(isinstance(name, pikepdf.Name) for name in names):
        raise NotUnpackedError("it does not say how it is packed")
    return [str(name) for name in names]


def _parameters(stream: Any, count: int) -> list[Any]:
    found = stream.get("/DecodeParms")
    listed = list(found) if isinstance(found, pikepdf.Array) else [found]
    return (listed + [None] * count)[:count]


def _unpacked(pdf: pikepdf.Pdf, name: str, parameters: Any, packed: bytes, *, is_last: bool) -> bytes:
    """Flate by zlib itself: nearly all streams are packed so, and qpdf takes what is there of one that ends early."""
    if not packed.strip():
        return b""
    if name in FLATE:
        data = inflated(packed)
        if not _has_predictor(parameters):
            return data
    if is_last and ENDS.get(name, b"") not in packed:
        raise NotUnpackedError("its bytes end too early")
    return _decoded(pdf, name, parameters, packed)


def _has_predictor(parameters: Any) -> bool:
    return isinstance(parameters, pikepdf.Dictionary) and parameters.get("/Predictor", 1) != 1


def inflated(packed: bytes) -> bytes:
    inflating = zlib.decompressobj()
    try:
        data = inflating.decompress(packed, UNPACKED_MAX_BYTES)
    except zlib.error:
        raise NotUnpackedError("its bytes are damaged") from None
    if inflating.eof:
        return data
    if len(data) >= UNPACKED_MAX_BYTES:
        raise ReadingTooCostlyError(f"it unpacks to more than {UNPACKED_MAX_BYTES} bytes")
    if packed.rstrip().endswith(FLUSHED) or _ends_before_checksum(packed):
        return data
    raise NotUnpackedError("its bytes end too early")


def _ends_before_checksum(packed: bytes) -> bool:
    """Some writers leave it out, or count too few bytes. All of the data is there then."""
    inflating = zlib.decompressobj(-zlib.MAX_WBITS)
    inflating.decompress(packed[ZLIB_HEAD_BYTES:], UNPACKED_MAX_BYTES)
    return inflating.eof


def _decoded(pdf: pikepdf.Pdf, name: str, parameters: Any, packed: bytes) -> bytes:
    stream = pikepdf.Stream(pdf, packed)
    stream["/Filter"] = pikepdf.Name(name)
    if parameters is not None:
        stream["/DecodeParms"] = parameters
    try:
        data: bytes = stream.read_bytes(decode_level=pikepdf.StreamDecodeLevel.specialized)
    except pikepdf.PikepdfError as error:
        check_memory(error)
        raise NotUnpackedError("its bytes are damaged") from None
    most = RUNS_MAX_BYTES if name in RUN_LENGTHS else UNPACKED_MAX_BYTES
    if len(data) > most:
        raise ReadingTooCostlyError(f"it unpacks to more than {most} bytes")
    return data


def check_memory(error: pikepdf.PikepdfError) -> None:
    """qpdf calls it a fault of the document when its memory ends."""
    if "bad_alloc" in str(error):
        raise MemoryError from None

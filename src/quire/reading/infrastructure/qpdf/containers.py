"""The streams that hold a file together: tables of where objects lie, and packed objects. Parsers take what they can
of a damaged one, and the objects that are lost with it are nothing to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pikepdf

from quire.reading.infrastructure.qpdf.packing import inflated

BEGINS_WITHIN_BYTES = 1024
POINTER, NUMBER = re.compile(rb"startxref\s+(\d{1,12})"), re.compile(rb"\s*(\d{1,12})")
OBJECT, TABLE = re.compile(rb"\s{0,9}\d{1,10}\s+\d{1,5}\s+obj\b"), re.compile(rb"\s{0,9}xref\s")
STREAM = re.compile(rb"(?<!end)stream[ \t]*(?:\r\n|\n|\r)")
FLATE_ALONE = re.compile(rb"/Filter\s*(?:/(?:FlateDecode|Fl)\b|\[\s*/(?:FlateDecode|Fl)\s*\])")
# One before the other, by as many changes as a file has seen.
TABLES_MAX = 1_000
DICTIONARY_BYTES = 4_096
PACKED = re.compile(rb"/Type\s*/ObjStm\b")
NAME = re.compile(rb"(\d{1,10})\s+(\d{1,5})\s+\Z")
NAME_BYTES = 24


def check_tables(content: Any, size_bytes: int) -> None:
    """From the last one to the first, as far as each names the one before it. No parser is asked: it would have taken
    what it can of them."""
    for packed in _tables(content, size_bytes):
        inflated(packed)


def packed_objects(pdf: pikepdf.Pdf, content: Any, size_bytes: int) -> Iterator[Any]:
    """Bytes that look like one may be a page about PDFs; whether it is one, qpdf knows."""
    for _, number, generation in _named(content, size_bytes):
        stream = pdf.get_object(number, generation)
        if isinstance(stream, pikepdf.Stream) and stream.get("/Type") == "/ObjStm":
            yield stream


def check_packed_objects(content: Any, size_bytes: int) -> None:
    """By their bytes alone, of a file that qpdf cannot follow: one of them may be why. Encrypted ones tell nothing."""
    if content.find(b"/Encrypt", 0, size_bytes) >= 0:
        return
    for place, _, _ in _named(content, size_bytes):
        dictionary, body = _table_at(content, place, size_bytes)
        if body is not None and FLATE_ALONE.search(dictionary):
            inflated(bytes(content[body : content.find(b"endstream", body, size_bytes)]))


def _named(content: Any, size_bytes: int) -> Iterator[tuple[int, int, int]]:
    """Where each begins, and what it is called."""
    for found in PACKED.finditer(content, 0, size_bytes):
        keyword = content.rfind(b"obj", max(0, found.start() - DICTIONARY_BYTES), found.start())
        before = bytes(content[max(0, keyword - NAME_BYTES) : keyword]) if keyword > 0 else b""
        if name := NAME.search(before):
            yield keyword - len(before) + name.start(), int(name[1]), int(name[2])


def _tables(content: Any, size_bytes: int) -> Iterator[bytes]:
    head = max(0, content.find(b"%PDF-", 0, BEGINS_WITHIN_BYTES))
    last = content.rfind(b"startxref", 0, size_bytes)
    pointer = POINTER.match(content, last) if last >= 0 else None
    rest = [] if pointer is None else [int(pointer[1])]
    seen: set[int] = set()
    while rest and len(seen) < TABLES_MAX:
        place = rest.pop()
        if place in seen or not 0 <= head + place < size_bytes:
            continue
        seen.add(place)
        dictionary, body = _table_at(content, head + place, size_bytes)
        if body is not None and FLATE_ALONE.search(dictionary):
            yield bytes(content[body : content.find(b"endstream", body, size_bytes)])
        rest += [int(number[1]) for name in (b"/Prev", b"/XRefStm") if (number := _number(dictionary, name))]


def _table_at(content: Any, place: int, size_bytes: int) -> tuple[bytes, int | None]:
    """Its dictionary, and where its stream begins if it is one; nothing where none is."""
    if OBJECT.match(content, place):
        body = STREAM.search(content, place, min(size_bytes, place + DICTIONARY_BYTES))
        return (bytes(content[place : body.start()]), body.end()) if body else (b"", None)
    trailer = content.find(b"trailer", place, size_bytes) if TABLE.match(content, place) else -1
    if trailer < 0:
        return b"", None
    return bytes(content[trailer : trailer + DICTIONARY_BYTES]).partition(b"startxref")[0], None


def _number(dictionary: bytes, name: bytes) -> re.Match[bytes] | None:
    place = dictionary.find(name)
    return NUMBER.match(dictionary, place + len(name)) if place >= 0 else None

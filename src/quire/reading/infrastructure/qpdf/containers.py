"""The streams that hold a file together: packed objects, and tables of where objects lie. Both parsers take what they
can of a damaged one, and the objects that are lost with it are nothing to them. Found by their names, and not by a
table, which may be what is damaged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from quire.reading.infrastructure.qpdf.packing import inflated

KIND = re.compile(rb"/Type\s*/(ObjStm|XRef)\b")
LENGTH = re.compile(rb"/Length\s+(\d{1,10})\s*(?=[/>])")
FLATE_ALONE = re.compile(rb"/Filter\s*(?:/(?:FlateDecode|Fl)\b|\[\s*/(?:FlateDecode|Fl)\s*\])")
STREAM = re.compile(rb"stream\r?\n")
# Further apart than this, the parts of a dictionary are of two.
DICTIONARY_BYTES = 4_096
OBJECT, ENCRYPTED = b"obj", b"/Encrypt"


def check_containers(content: Any, size_bytes: int) -> None:
    """Those that can be told from their dictionaries alone; the rest shows when it is read."""
    for packed in _packed(content, size_bytes):
        inflated(packed)


def _packed(content: Any, size_bytes: int) -> Iterator[bytes]:
    # Tables are never encrypted.
    is_encrypted = content.find(ENCRYPTED) >= 0
    for found in KIND.finditer(content, 0, size_bytes):
        if is_encrypted and found[1] == b"ObjStm":
            continue
        begin = content.rfind(OBJECT, max(0, found.start() - DICTIONARY_BYTES), found.start())
        body = STREAM.search(content, found.end(), found.end() + DICTIONARY_BYTES)
        if begin < 0 or body is None:
            continue
        dictionary = bytes(content[begin : body.start()])
        length = LENGTH.search(dictionary)
        if length is not None and FLATE_ALONE.search(dictionary):
            yield bytes(content[body.end() : min(size_bytes, body.end() + int(length[1]))])

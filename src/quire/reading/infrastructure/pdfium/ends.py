"""Both ends of a file: does it begin as a PDF does, and is it all there. Bytes are looked at, nothing is parsed."""

from __future__ import annotations

import re
from typing import Any

from quire.reading.domain.errors import EXPORT_AGAIN, NotPdfError, PdfDamagedError

# Readers allow for so many bytes of noise before and after.
BEGINS_WITHIN_BYTES = 1024
ENDS_WITHIN_BYTES = 4096
HEAD, MARK = b"%PDF-", b"%%EOF"
# What servers and mailers append; all of it is white space to a PDF.
PADDING = b"\0\t\n\f\r "
LAST_POINTER = re.compile(rb"startxref\s+(\d{1,12})\Z")
TABLE = re.compile(rb"\s{0,2}(?:xref\s|\d{1,10}\s+\d{1,5}\s+obj\b)")
TABLE_HEAD_BYTES = 40
# More of a PDF behind the last mark: a change that was appended, and cut off. What is before it is an older version.
CHANGE = re.compile(rb"(?:^|[\r\n])\s*(?:\d{1,10}\s+\d{1,5}\s+obj\b|xref\s|trailer\b)")


def size_without_padding(content: Any, size_bytes: int) -> int:
    """Refused without its end: what was cut off could be read in part, and nobody would know which part is missing."""
    head = bytes(content[:BEGINS_WITHIN_BYTES]).find(HEAD)
    if head < 0:
        raise NotPdfError("it does not begin as a PDF does")
    size = _unpadded(content, size_bytes)
    end = bytes(content[max(0, size - ENDS_WITHIN_BYTES) : size])
    if not _leads_to_table(content, head, end) and (
        MARK not in end or CHANGE.search(end.rpartition(MARK)[2])
    ):
        raise PdfDamagedError(f"its end is missing: {EXPORT_AGAIN}")
    return size


def _unpadded(content: Any, size: int) -> int:
    while size > 0:
        start = max(0, size - ENDS_WITHIN_BYTES)
        kept = bytes(content[start:size]).rstrip(PADDING)
        if kept:
            return start + len(kept)
        size = start
    return 0


def _leads_to_table(content: Any, head: int, end: bytes) -> bool:
    """Only the mark itself is missing: the pointer before it is whole, since it leads to where tables begin. Pointers
    count from the head."""
    pointer = LAST_POINTER.search(end)
    if pointer is None:
        return False
    place = head + int(pointer[1])
    return TABLE.match(bytes(content[place : place + TABLE_HEAD_BYTES])) is not None

"""Author, subject and keywords of a printed document. Chromium writes the title alone, so they are appended as an
incremental update: every printed byte stays where it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape

PDF_KEYS = {"author": "Author", "description": "Subject", "keywords": "Keywords"}
VALUE_MAX_CHARACTERS = 1_000

_HEAD_END = re.compile(r"</head\s*>", re.IGNORECASE)
_META = re.compile(r'<meta name="(author|description|keywords)" content="([^"]*)">')
_TRAILER = re.compile(
    rb"trailer\n<</Size (\d+)\n/Root (\d+) 0 R\n/Info (\d+) 0 R>>\nstartxref\n(\d+)\n%%EOF\s*\Z"
)
_INFORMATION_END = re.compile(rb"/ModDate \(D:[^)]*\)(>>)\nendobj")
TRAILER_BYTES = 1024


def document_metadata(html: str) -> dict[str, str]:
    """What the head of the document says, the last word of each kind: options stand after the template's own."""
    end = _HEAD_END.search(html)
    head = html[: end.start()] if end else ""
    found = {PDF_KEYS[name]: unescape(value).strip() for name, value in _META.findall(head)}
    return {key: value[:VALUE_MAX_CHARACTERS] for key, value in found.items() if value}


def with_metadata(pdf: bytes, entries: Mapping[str, str]) -> bytes:
    """Raises ValueError for bytes that Skia did not write."""
    if not entries:
        return pdf
    trailer = _TRAILER.search(pdf, max(0, len(pdf) - TRAILER_BYTES))
    if trailer is None:
        raise ValueError("no trailer where Chromium writes it")
    size, root, info, table_at = (int(group) for group in trailer.groups())
    body = _information(pdf, info, entries)
    object_at = len(pdf) + 1
    new_table_at = object_at + len(body)
    table = f"xref\n{info} 1\n{object_at:010d} 00000 n \n"
    ending = f"trailer\n<</Size {size}\n/Root {root} 0 R\n/Info {info} 0 R\n/Prev {table_at}>>\n"
    return pdf + b"\n" + body + f"{table}{ending}startxref\n{new_table_at}\n%%EOF\n".encode()


def _information(pdf: bytes, number: int, entries: Mapping[str, str]) -> bytes:
    opening = b"%d 0 obj\n<<" % number
    start = pdf.find(opening)
    end = _INFORMATION_END.search(pdf, max(start, 0))
    if start < 0 or end is None:
        raise ValueError("no information dictionary where Chromium writes it")
    added = "".join(f"\n/{key} {_text(value)}" for key, value in sorted(entries.items()))
    return pdf[start : end.start(1)] + added.encode() + b">>\nendobj\n"


def _text(value: str) -> str:
    """UTF-16 in hexadecimal: nothing in it can end the string."""
    return f"<FEFF{value.encode('utf-16-be', 'replace').hex().upper()}>"

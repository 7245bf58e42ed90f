"""The gateway's word for an answer of its own. It was held against its schema inside the jail, by a process that read a
stranger's file: what the gateway itself makes sure of is that no document type leaves under its name."""

from __future__ import annotations

import hashlib
import re
from typing import IO

from quire.convert.domain.voucher import Voucher

CHUNK_BYTES = 1_048_576
# Said before anything else, so that a reader cannot take the bytes for another encoding, in which the search below
# would have looked for other bytes.
HEAD = re.compile(rb"""<\?xml version=["']1\.0["'] encoding=["']UTF-8["']\?>""")
# Begins a document type, a comment or raw text. XML of our own writing has none of them.
DECLARATION = b"<!"


def vouch_for_answer(xml: IO[bytes], schema: str) -> Voucher | None:
    """None for XML that declares anything, as an invoice of others may: whoever gets it looks for himself. Blocks for
    as long as reading takes, and leaves the file at its beginning."""
    xml.seek(0)
    sha256 = _sha256_of_plain(xml)
    xml.seek(0)
    return Voucher(sha256, schema) if sha256 is not None else None


def _sha256_of_plain(xml: IO[bytes]) -> bytes | None:
    digest = hashlib.sha256()
    chunk = xml.read(CHUNK_BYTES)
    if not HEAD.match(chunk):
        return None
    last = b""
    while chunk:
        # A mark may lie across two chunks.
        if DECLARATION in chunk or DECLARATION in last + chunk[:1]:
            return None
        digest.update(chunk)
        last, chunk = chunk[-1:], xml.read(CHUNK_BYTES)
    return digest.digest()

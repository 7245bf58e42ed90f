"""How one object lies in one file: its bytes, then a footer of fixed length with type, hash and size.

One file, so that one rename publishes bytes and description together, and a plain copy of the directory is
a backup.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime

from quire.runtime.storage.backend import StoredObject
from quire.runtime.storage.errors import StorageCorruptError

FOOTER_BYTES = 512
_MAGIC = b"quire-object-1\n"


@dataclass(frozen=True)
class Footer:
    content_type: str
    sha256: str
    size_bytes: int

    def encode(self) -> bytes:
        text = json.dumps(
            {"content_type": self.content_type, "sha256": self.sha256, "size_bytes": self.size_bytes}
        )
        return text.encode("ascii").ljust(FOOTER_BYTES - len(_MAGIC)) + _MAGIC

    @classmethod
    def decode(cls, raw: bytes) -> Footer:
        if len(raw) != FOOTER_BYTES or not raw.endswith(_MAGIC):
            raise StorageCorruptError("the object has no footer")
        try:
            fields = json.loads(raw[: -len(_MAGIC)])
            return cls(str(fields["content_type"]), str(fields["sha256"]), int(fields["size_bytes"]))
        except (ValueError, KeyError, TypeError):
            raise StorageCorruptError("the object's footer cannot be read") from None


def read_footer(descriptor: int) -> Footer:
    """Refuses what is not a regular file, and a file that is longer or shorter than its footer says."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_size < FOOTER_BYTES:
        raise StorageCorruptError("the object is not a whole file")
    footer = Footer.decode(os.pread(descriptor, FOOTER_BYTES, status.st_size - FOOTER_BYTES))
    if footer.size_bytes + FOOTER_BYTES != status.st_size:
        raise StorageCorruptError("the object has not the length it was stored with")
    return footer


def describe(key: str, footer: Footer, descriptor: int) -> StoredObject:
    return StoredObject(
        key=key,
        size_bytes=footer.size_bytes,
        sha256=footer.sha256,
        etag=footer.sha256,
        content_type=footer.content_type,
        modified_at=datetime.fromtimestamp(os.fstat(descriptor).st_mtime, UTC),
    )

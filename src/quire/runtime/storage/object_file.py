"""How one object lies in one file: its bytes and nothing else, so that a person can open it. Type, hash and
size are in an attribute of the file: one rename publishes bytes and description together.

A file system or a copy without attributes loses the description, and nothing that the database does not
know: then the type follows from the name, and the hash is unknown here.

Earlier releases, and keys that have no plain place, have the description in a footer of fixed length.
"""

from __future__ import annotations

import contextlib
import errno
import json
import mimetypes
import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime

from quire.runtime.storage.backend import DEFAULT_CONTENT_TYPE, StoredObject
from quire.runtime.storage.errors import StorageCorruptError

FOOTER_BYTES = 512
_MAGIC = b"quire-object-1\n"
_ATTRIBUTE = "user.quire.object"
# The file system has no attributes, or lets us set none.
_WITHOUT = {errno.ENOTSUP, errno.ENOSYS, errno.EPERM, errno.EACCES}


@dataclass(frozen=True)
class Description:
    content_type: str
    sha256: str
    size_bytes: int

    def encode(self) -> bytes:
        fields = {"content_type": self.content_type, "sha256": self.sha256, "size_bytes": self.size_bytes}
        return json.dumps(fields).encode("ascii")

    def footer(self) -> bytes:
        return self.encode().ljust(FOOTER_BYTES - len(_MAGIC)) + _MAGIC

    @classmethod
    def decode(cls, raw: bytes) -> Description:
        try:
            fields = json.loads(raw)
            return cls(str(fields["content_type"]), str(fields["sha256"]), int(fields["size_bytes"]))
        except (ValueError, KeyError, TypeError):
            raise StorageCorruptError("the object's description cannot be read") from None


def write_description(descriptor: int, description: Description) -> None:
    try:
        os.setxattr(descriptor, _ATTRIBUTE, description.encode())
    except OSError as error:
        if error.errno not in _WITHOUT:
            raise


def stored_object(key: str, descriptor: int, *, footed: bool) -> StoredObject:
    """Refuses what is not a regular file, and a file that is longer or shorter than it was stored."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise StorageCorruptError("the object is not a whole file")
    known = _read_footer(descriptor, status) if footed else _read_attribute(descriptor)
    if known is None:
        return _undescribed(key, status)
    if known.size_bytes + (FOOTER_BYTES if footed else 0) != status.st_size:
        raise StorageCorruptError("the object has not the length it was stored with")
    return StoredObject(
        key=key,
        size_bytes=known.size_bytes,
        sha256=known.sha256,
        etag=known.sha256,
        content_type=known.content_type,
        modified_at=datetime.fromtimestamp(status.st_mtime, UTC),
    )


def _read_attribute(descriptor: int) -> Description | None:
    with contextlib.suppress(OSError):
        return Description.decode(os.getxattr(descriptor, _ATTRIBUTE))
    return None


def _read_footer(descriptor: int, status: os.stat_result) -> Description:
    raw = os.pread(descriptor, FOOTER_BYTES, max(0, status.st_size - FOOTER_BYTES))
    if len(raw) != FOOTER_BYTES or not raw.endswith(_MAGIC):
        raise StorageCorruptError("the object has no footer")
    return Description.decode(raw[: -len(_MAGIC)])


def _undescribed(key: str, status: os.stat_result) -> StoredObject:
    return StoredObject(
        key=key,
        size_bytes=status.st_size,
        sha256=None,
        etag=f"{status.st_size:x}-{status.st_mtime_ns:x}",
        content_type=mimetypes.guess_type(key)[0] or DEFAULT_CONTENT_TYPE,
        modified_at=datetime.fromtimestamp(status.st_mtime, UTC),
    )

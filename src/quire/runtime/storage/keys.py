"""What a storage key may look like: the letters that mean the same on a disk, in S3 and in a URL."""

from __future__ import annotations

import re

from quire.runtime.storage.errors import StorageKeyError

KEY_MAX_BYTES = 512
# File systems take names of 255 bytes; the rest is room for the marks that adapters add.
SEGMENT_MAX_BYTES = 240

_SEGMENT = re.compile(r"[A-Za-z0-9._=-]+", re.ASCII)


def checked_key(key: str) -> str:
    """The key itself, or StorageKeyError."""
    if not key or len(key) > KEY_MAX_BYTES:
        raise StorageKeyError(f"a key has 1 to {KEY_MAX_BYTES} characters")
    for segment in key.split("/"):
        _check_segment(segment)
    return key


def checked_prefix(prefix: str) -> str:
    """A prefix may be empty, end with `/` or stop inside a segment; otherwise it obeys the rules of keys."""
    if prefix:
        checked_key(prefix.removesuffix("/"))
    return prefix


def is_segment(name: str) -> bool:
    """Whether a file of this name can be an object's."""
    return len(name) <= SEGMENT_MAX_BYTES and _SEGMENT.fullmatch(name) is not None


def _check_segment(segment: str) -> None:
    if not _SEGMENT.fullmatch(segment):
        raise StorageKeyError("a key is made of A-Z a-z 0-9 . _ = - in segments between single slashes")
    if segment in {".", ".."}:
        raise StorageKeyError("a key has no segment . or ..")
    if len(segment) > SEGMENT_MAX_BYTES:
        raise StorageKeyError(f"a segment of a key has at most {SEGMENT_MAX_BYTES} characters")

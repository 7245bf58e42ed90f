"""Checks of arguments that every adapter makes alike."""

from __future__ import annotations

import re

from quire.runtime.storage.backend import LIST_MAX, PRESIGN_MAX_SECONDS
from quire.runtime.storage.errors import StorageArgumentError

CONTENT_TYPE_MAX = 120
FILENAME_MAX = 255
_WORD = r"[A-Za-z0-9!#$&^_.+-]+"
_CONTENT_TYPE = re.compile(rf"{_WORD}/{_WORD}(?:; ?{_WORD}=(?:{_WORD}|\"[A-Za-z0-9 ._+-]*\"))*", re.ASCII)


def checked_content_type(value: str) -> str:
    """It becomes a header later on; a newline or a control letter in it must never get that far."""
    if len(value) > CONTENT_TYPE_MAX or not _CONTENT_TYPE.fullmatch(value):
        raise StorageArgumentError("the content type is not of the form type/subtype")
    return value


def checked_range(start: int, end: int | None) -> None:
    if start < 0 or (end is not None and end < start):
        raise StorageArgumentError("a range starts at 0 or later and does not end before it starts")


def checked_limit(limit: int) -> int:
    if not 1 <= limit <= LIST_MAX:
        raise StorageArgumentError(f"a listing has a limit of 1 to {LIST_MAX}")
    return limit


def checked_ttl(ttl_seconds: int) -> int:
    if not 1 <= ttl_seconds <= PRESIGN_MAX_SECONDS:
        raise StorageArgumentError(f"a signed URL lives 1 to {PRESIGN_MAX_SECONDS} seconds")
    return ttl_seconds


def checked_filename(filename: str | None) -> str | None:
    if filename is None:
        return None
    if not 1 <= len(filename) <= FILENAME_MAX or not filename.isprintable() or set(filename) & set("/\\"):
        raise StorageArgumentError(f"a file name has 1 to {FILENAME_MAX} printable characters and no slash")
    return filename


def checked_size(size_bytes: int) -> int:
    if size_bytes < 0:
        raise StorageArgumentError("a size is 0 or more")
    return size_bytes

"""A file that a command writes: it appears under its name when it is whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from quire.kernel import QuireError


class LocalFileError(QuireError):
    code = "LOCAL_FILE_UNUSABLE"
    title = "The local file cannot be used"


def in_words(error: OSError) -> str:
    """Without the number, and without the name, which is said already."""
    if isinstance(error, FileNotFoundError):
        return "there is no such file or directory"
    if isinstance(error, IsADirectoryError):
        return "it is a directory"
    return (error.strerror or type(error).__name__).lower()


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """`-` is standard output. A link is followed. What is no plain file, such as a pipe or a device, is written to as
    the bytes come: putting another file in its place would take it from everybody."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        place = path.resolve() if path.is_symlink() else path
        if place.is_dir():
            raise IsADirectoryError
        with place.open("wb") if _is_special(place) else _draft_of(place) as target:
            yield target
    except OSError as error:
        raise LocalFileError(f"{path}: {in_words(error)}") from None


def _is_special(place: Path) -> bool:
    return place.exists() and not place.is_file() and not place.is_dir()


@contextlib.contextmanager
def _draft_of(place: Path) -> Iterator[BinaryIO]:
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, "it may not be written")
    draft = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with draft.open("xb") as target:
            yield target
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)

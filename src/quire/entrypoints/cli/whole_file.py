"""A file that a command writes: it appears under its name when it is whole, or not at all."""

from __future__ import annotations

import contextlib
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
    """`-` is standard output."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("xb") as target:
            yield target
        draft.replace(path)
    except OSError as error:
        raise LocalFileError(f"{path}: {in_words(error)}") from None
    finally:
        draft.unlink(missing_ok=True)

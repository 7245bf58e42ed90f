"""One table from what the operating system says to what storage says. Paths stay out of it."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from quire.runtime.storage.errors import (
    StorageExistsError,
    StorageFullError,
    StorageKeyError,
    StorageNotFoundError,
    StorageUnavailableError,
)

# EFBIG is a quota too: the process's own limit on file size.
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# A symlink where a directory or a file should be: refused, never followed. That the storage itself is no directory
# is said where it is opened.
_ASTRAY = {errno.ELOOP, errno.ENOTDIR}


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise StorageNotFoundError() from None
        if error.errno == errno.EEXIST:
            raise StorageExistsError() from None
        if error.errno in _FULL:
            raise StorageFullError() from None
        if error.errno in _ASTRAY:
            raise StorageKeyError("the key leads out of the storage") from None
        cause = errno.errorcode.get(error.errno or 0, "unknown error")
        raise StorageUnavailableError(f"the disk answered {cause}") from None

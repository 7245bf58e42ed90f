"""Whether bytes are a PDF that may be taken in, looked at as they pass by: its head, its size, its hash."""

from __future__ import annotations

import hashlib

from quire.kernel import InvalidInputError, TooLargeError

HEAD = b"%PDF-"
# Readers look for the head in the first kilobyte; some writers put other bytes before it.
HEAD_WITHIN_BYTES = 1024


class NotAPdfError(InvalidInputError):
    code = "NOT_A_PDF"
    title = "The file is not a PDF"


class FileTooLargeError(TooLargeError):
    code = "FILE_TOO_LARGE"
    title = "The file is too large"


class PdfCheck:
    def __init__(self, max_bytes: int) -> None:
        self.size_bytes = 0
        self._max_bytes = max_bytes
        self._start = bytearray()
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def feed(self, chunk: bytes) -> None:
        self.size_bytes += len(chunk)
        if self.size_bytes > self._max_bytes:
            raise FileTooLargeError(
                f"a file here has at most {self._max_bytes} bytes", extra={"limit_bytes": self._max_bytes}
            )
        if len(self._start) < HEAD_WITHIN_BYTES:
            self._start += chunk[: HEAD_WITHIN_BYTES - len(self._start)]
            if len(self._start) == HEAD_WITHIN_BYTES:
                self._check_head()
        self._hash.update(chunk)

    def close(self) -> None:
        """The file has ended."""
        self._check_head()

    def _check_head(self) -> None:
        if HEAD not in self._start:
            raise NotAPdfError("a PDF begins with %PDF-" if self._start else "the file is empty")

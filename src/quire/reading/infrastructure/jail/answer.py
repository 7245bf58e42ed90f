"""What one child says: a line of JSON, then bytes, kept outside our memory when they are many. The child is not to be
trusted: its sizes, codes and words are checked."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import tempfile
from typing import IO, Any

import structlog

from quire.kernel import QuireError
from quire.reading.domain.errors import ReaderCrashedError, ReadingTooCostlyError

HEADER_MAX_BYTES = 4_096
CHUNK_BYTES = 1_048_576
IN_MEMORY_BYTES = 8_388_608
PIPE_BYTES = 1_048_576
COSTLY = ("MemoryError", "RecursionError")


log = structlog.get_logger(__name__)


class ChildRefusalError(QuireError):
    """The child refused its document; `code` says why, and whoever asked knows what that means."""


class Answer:
    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._head = b""
        self._header: dict[str, Any] | None = None
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115
        self._size = 0
        self._is_too_large = False

    async def read(self, source: int) -> None:
        """To the end, or to the limit; closes `source` either way, which ends a child that writes on."""
        try:
            os.set_blocking(source, False)
            fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            while chunk := await _chunk(source):
                self._take(chunk)
                if self._size > self._bytes_max:
                    self._is_too_large = True
                    return
        finally:
            os.close(source)

    def _take(self, chunk: bytes) -> None:
        if self._header is None:
            self._head += chunk
            line, end, chunk = self._head.partition(b"\n")
            if not end:
                if len(self._head) > HEADER_MAX_BYTES:
                    self._size = self._bytes_max + 1
                return
            self._header = _parsed(line)
        self._file.write(chunk)
        self._size += len(chunk)

    @property
    def is_whole(self) -> bool:
        return self._header is not None and self._header.get("size") == self._size

    def refusal(self) -> QuireError | None:
        if self._is_too_large:
            return ReadingTooCostlyError(f"its answer has more than {self._bytes_max} bytes")
        code = self._header.get("error") if self._header else None
        if code is None:
            return None
        if code in COSTLY:
            return ReadingTooCostlyError("reading it takes more memory than it may")
        detail = (
            "".join(c for c in str(self._header.get("detail", "")) if c.isprintable()) if self._header else ""
        )
        if code == "CRASH":
            # Ours to mend: a document may end its reader, but no reader should raise this.
            log.warning("reader_crashed", detail=detail)
            return ReaderCrashedError()
        return ChildRefusalError(detail, code=str(code))

    def body(self) -> IO[bytes]:
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        self._file.close()


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except ValueError:
        return {}
    return header if isinstance(header, dict) else {}


async def _chunk(source: int) -> bytes:
    while True:
        try:
            return os.read(source, CHUNK_BYTES)
        except BlockingIOError:
            await _readable(source)


async def _readable(source: int) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(source, _settle, ready)
    try:
        await ready
    finally:
        loop.remove_reader(source)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)

"""The check of one answer, in a thread beside whoever receives it. Between them is a pipe, and what it holds is all
that waits in memory: neither waits for the other until the answer ends, or the check is far behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from io import FileIO
from threading import Thread

from quire.convert.domain.answer_size import AnswerSize
from quire.convert.domain.gateway_errors import AnswerUncheckedError
from quire.convert.infrastructure.libxml2.xml_check import check_start, check_xml

# The most that Linux lets anybody have.
PIPE_BYTES = 1_048_576
UNREAD = "the answer was not read to its end"


@contextlib.contextmanager
def system_faults() -> Iterator[None]:
    """Too many open files, no `/dev/fd`. None of it is a full disk, whatever its number says: nothing here is kept."""
    try:
        yield
    except OSError as error:
        cause = errno.errorcode.get(error.errno or 0)
        raise AnswerUncheckedError(f"the system answered {cause}" if cause else UNREAD) from error


class PipedAnswerCheck:
    """Implements `AnswerCheck`. The thread is its own: one of the shared threads, waiting for bytes, could be the one
    that the disk waits for. It starts with the first byte and ends by `finish` or `close`."""

    def __init__(self, max_bytes: int) -> None:
        self._size = AnswerSize(max_bytes)
        self._loop = asyncio.get_running_loop()
        self._verdict: asyncio.Future[None] = self._loop.create_future()
        # If the disk fails first, nobody asks any more what the check said.
        self._verdict.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._inlet: FileIO | None = None
        self._outlet: FileIO | None = None

    async def feed(self, chunk: bytes) -> None:
        """Raises what the check has found by now."""
        with system_faults():
            inlet = self._inlet or self._begin(chunk)
            self._size.add(len(chunk))
            await self._hand_over(memoryview(chunk), inlet)
            if self._verdict.done():
                self._verdict.result()

    async def finish(self) -> None:
        """Raises unless it was one whole document."""
        self._size.check_whole()
        with system_faults():
            self.close()
            await self._verdict

    def close(self) -> None:
        # In this order: a loop that still watched an inlet without an outlet would report an error of its own.
        for end in (self._inlet, self._outlet):
            if end is not None:
                end.close()

    def _begin(self, chunk: bytes) -> FileIO:
        check_start(chunk)
        outlet, inlet = os.pipe()
        self._inlet, self._outlet = FileIO(inlet, "w"), FileIO(outlet, "r")
        # Refused to a user who has many; then the pipe is small and they wait for each other more often.
        with contextlib.suppress(PermissionError):
            fcntl.fcntl(inlet, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        os.set_blocking(inlet, False)
        # An outlet of its own, for it may read on when nobody here waits for it any more.
        its_own = FileIO(os.dup(outlet), "r")
        thread = Thread(target=self._run, args=(its_own,), name="answer_check", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            its_own.close()
            raise AnswerUncheckedError("the system gave no thread") from None
        return self._inlet

    async def _hand_over(self, view: memoryview, inlet: FileIO) -> None:
        while view and not self._verdict.done():
            if written := inlet.write(view):
                view = view[written:]
            else:
                await self._room(inlet)

    async def _room(self, inlet: FileIO) -> None:
        """Waits for the verdict too: a check that has found something reads no more."""
        room: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_writer(inlet, _set_once, room)
        try:
            await asyncio.wait([room, self._verdict], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._loop.remove_writer(inlet)

    def _run(self, outlet: FileIO) -> None:
        found: Exception | None = None
        try:
            with outlet:
                check_xml(outlet.fileno())
        except Exception as error:
            found = error
        # A loop that has closed by now wants to know nothing.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._tell, found)

    def _tell(self, found: Exception | None) -> None:
        if self._verdict.done():
            return
        if found is None:
            self._verdict.set_result(None)
        else:
            self._verdict.set_exception(found)


def _set_once(room: asyncio.Future[None]) -> None:
    if not room.done():
        room.set_result(None)

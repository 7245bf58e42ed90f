"""The check of one answer, in a thread beside whoever receives it: neither waits for the other until the answer ends,
or the check is far behind."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Thread

from quire.convert.domain.xml_check import check_xml

# What may wait in memory for the check.
BEHIND_MAX_BYTES = 4_194_304
END = b""


class AnswerCheck:
    """The thread is its own: one of the shared threads, waiting for bytes, could be the one that the disk waits for.
    It starts with the first byte and ends by `finish` or `close`."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._loop = asyncio.get_running_loop()
        self._chunks: SimpleQueue[bytes] = SimpleQueue()
        self._behind_bytes = 0
        self._moved = asyncio.Event()
        self._verdict: asyncio.Future[None] = self._loop.create_future()
        # If the disk fails first, nobody asks any more what the check said.
        self._verdict.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._thread: Thread | None = None

    async def feed(self, chunk: bytes) -> None:
        """Raises what the check has found by now."""
        self._give(chunk)
        while self._behind_bytes > BEHIND_MAX_BYTES and not self._verdict.done():
            self._moved.clear()
            await self._moved.wait()
        if self._verdict.done():
            self._verdict.result()

    async def finish(self) -> None:
        """Raises unless it was one whole document."""
        self._give(END)
        await self._verdict

    def close(self) -> None:
        self._chunks.put(END)

    def _give(self, chunk: bytes) -> None:
        self._behind_bytes += len(chunk)
        self._chunks.put(chunk)
        if self._thread is None:
            self._thread = Thread(target=self._run, name="answer_check", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            check_xml(self._taken(), self._max_bytes)
        except Exception as error:
            self._tell(self._refuse, error)
        else:
            self._tell(self._accept)

    def _taken(self) -> Iterator[bytes]:
        """All that waits at once: each time it asks, it waits for the interpreter's lock too."""
        ended = False
        while not ended:
            waiting = [self._chunks.get()]
            while not self._chunks.empty():
                waiting.append(self._chunks.get())
            # Nothing comes after the end but, from `close`, another one.
            ended = END in waiting
            if taken := b"".join(waiting):
                self._tell(self._note, len(taken))
                yield taken

    def _tell(self, what: Callable[..., None], *arguments: object) -> None:
        # A loop that has closed by now wants to know nothing.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what, *arguments)

    def _note(self, size_bytes: int) -> None:
        self._behind_bytes -= size_bytes
        self._moved.set()

    def _accept(self) -> None:
        if not self._verdict.done():
            self._verdict.set_result(None)
        self._moved.set()

    def _refuse(self, error: Exception) -> None:
        if not self._verdict.done():
            self._verdict.set_exception(error)
        self._moved.set()

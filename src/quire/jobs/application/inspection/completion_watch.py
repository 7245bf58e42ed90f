"""Long polls: many waiters, one look at the database for all of them when something ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from uuid import UUID

import structlog

from quire.jobs.ports.v1.broker import ENDED, Broker
from quire.jobs.ports.v1.job_board import JobBoard
from quire.kernel import QuireError

# The safety net under lost notifications.
LOOK_SECONDS = 1.0

log = structlog.get_logger(__name__)


class CompletionWatch:
    def __init__(self, board: JobBoard, broker: Broker) -> None:
        self._board = board
        self._waiting: Counter[UUID] = Counter()
        self._ended: dict[UUID, asyncio.Event] = {}
        self._look = asyncio.Event()
        self._released = False
        self._task: asyncio.Task[None] | None = None
        broker.subscribe(ENDED, self._look.set)

    async def wait(self, job_id: UUID, seconds: float) -> bool:
        """True as soon as the job has ended; False after `seconds` or when all waiters are released."""
        if self._released:
            return False
        event = self._ended.setdefault(job_id, asyncio.Event())
        self._waiting[job_id] += 1
        self._look.set()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await event.wait()
            return event.is_set() and not self._released
        finally:
            self._waiting[job_id] -= 1
            if not self._waiting[job_id]:
                del self._waiting[job_id]
                self._ended.pop(job_id, None)

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    def release(self) -> None:
        """The process is about to stop: everybody gets the answer of now, and nobody waits any more."""
        self._released = True
        for event in self._ended.values():
            event.set()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._look.wait()
            self._look.clear()
            if self._ended:
                await self._tell_waiters()

    async def _tell_waiters(self) -> None:
        try:
            for job_id in await self._board.ended_among(list(self._ended)):
                if job_id in self._ended:
                    self._ended[job_id].set()
        except QuireError as error:
            log.warning("completion_look_failed", error_code=error.code)
        except Exception:
            # One odd answer of the database must not end long polls for the life of the process.
            log.exception("completion_look_failed")

    async def close(self) -> None:
        self.release()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

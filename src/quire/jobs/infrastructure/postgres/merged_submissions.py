"""Concurrent single enqueues share one statement and one fsync. Each caller still waits for the commit of its own
job; while one statement is under way, the next one gathers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from quire.jobs.domain.job import Submission
from quire.jobs.infrastructure.postgres.submission_store import PostgresSubmissionStore
from quire.runtime.database import Database

MERGE_MAX = 500
# Two statements in flight keep the server busy while the next one gathers.
WRITERS = 2


@dataclass(slots=True, eq=False)
class _Part:
    submissions: Sequence[Submission]
    stored: asyncio.Future[frozenset[UUID]]


class MergedSubmissionStore(PostgresSubmissionStore):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._parts: list[_Part] = []
        self._writing = 0
        self._writers: set[asyncio.Task[None]] = set()

    async def insert(
        self, submissions: Sequence[Submission], *, queued_max: int | None = None
    ) -> frozenset[UUID]:
        alone = (
            queued_max is not None or len(submissions) > MERGE_MAX or any(s.depends_on for s in submissions)
        )
        if alone:
            return await super().insert(submissions, queued_max=queued_max)
        if self._writing < WRITERS and not self._parts:
            return await self._write_own(submissions)
        part = _Part(submissions, asyncio.get_running_loop().create_future())
        self._parts.append(part)
        return await part.stored

    async def _write_own(self, submissions: Sequence[Submission]) -> frozenset[UUID]:
        """Nobody to share with: in the caller's own task. Who came meanwhile is written by a task, for this caller
        has its answer, or may be cancelled."""
        self._writing += 1
        try:
            return await super().insert(submissions)
        finally:
            self._writing -= 1
            if self._parts:
                self._hand_over()

    def _hand_over(self) -> None:
        self._writing += 1
        task = asyncio.create_task(self._write_all())
        self._writers.add(task)
        task.add_done_callback(self._writers.discard)

    async def _write_all(self) -> None:
        try:
            while self._parts:
                await self._write(self._take())
        finally:
            self._writing -= 1

    def _take(self) -> list[_Part]:
        taken, size = [], 0
        while self._parts and size + len(self._parts[0].submissions) <= MERGE_MAX:
            taken.append(self._parts.pop(0))
            size += len(taken[-1].submissions)
        return taken

    async def _write(self, parts: Sequence[_Part]) -> None:
        try:
            merged = [submission for part in parts for submission in part.submissions]
            stored = await super().insert(merged)
        except asyncpg.PostgresError as error:
            await self._write_apart(parts, error)
            return
        except BaseException as error:
            for part in parts:
                _fail(part, error)
            if not isinstance(error, Exception):
                raise
            return
        for part in parts:
            if not part.stored.done():
                part.stored.set_result(stored & {submission.id for submission in part.submissions})

    async def _write_apart(self, parts: Sequence[_Part], error: Exception) -> None:
        """One caller's bad row must not fail its neighbours."""
        if len(parts) == 1:
            _fail(parts[0], error)
            return
        for part in parts:
            await self._write([part])


def _fail(part: _Part, error: BaseException) -> None:
    if not part.stored.done():
        part.stored.set_exception(error)

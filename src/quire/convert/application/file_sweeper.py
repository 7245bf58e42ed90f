"""Removes files that no job needs any more: inputs of jobs that succeeded, expired or never came to be, results on
the shelf whose job has expired, uploads that nobody came for. Many may run at once: a deletion repeats harmlessly."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from quire.convert.application.upload_desk import UPLOADS
from quire.convert.domain.kept_file import KeptFile
from quire.convert.ports.v1.input_store import InputStore
from quire.convert.ports.v1.result_shelf import ResultShelf
from quire.jobs import Job, JobBoard, JobState, Sight
from quire.kernel import Clock, QuireError
from quire.runtime.storage import StorageBackend

PAGE = 200
# A file is there before its job is; nothing takes this long to be accepted.
YOUNG = timedelta(hours=1)
UPLOAD_KEPT = timedelta(days=1)
INPUT_DONE = frozenset({JobState.SUCCEEDED, JobState.CANCELLED, JobState.EXPIRED})
RESULT_DONE = frozenset({JobState.CANCELLED, JobState.EXPIRED})

log = structlog.get_logger(__name__)

Page = Callable[[UUID | None, int], Awaitable[Sequence[KeptFile]]]
Delete = Callable[[UUID], Awaitable[None]]


class FileSweeper:
    def __init__(
        self,
        board: JobBoard,
        storage: StorageBackend,
        inputs: InputStore,
        shelf: ResultShelf | None,
        clock: Clock,
        every_seconds: float,
    ) -> None:
        self._board = board
        self._storage = storage
        self._inputs = inputs
        self._shelf = shelf
        self._clock = clock
        self._every_seconds = every_seconds

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._every_seconds * (0.75 + random.random() / 2))
            try:
                removed = await self.sweep()
                if removed:
                    log.info("files_swept", removed=removed)
            except QuireError as error:
                log.warning("file_sweep_failed", error_code=error.code)
            except Exception:
                # A sweep that cannot be done now is no reason to give all later ones up.
                log.exception("file_sweep_failed")

    async def sweep(self) -> int:
        removed = await self._sweep(self._inputs.page, self._inputs.delete, INPUT_DONE)
        if self._shelf is not None:
            removed += await self._sweep(self._shelf.page, self._shelf.delete, RESULT_DONE)
        return removed + await self._sweep_uploads()

    async def _sweep(self, page_of: Page, delete: Delete, done: frozenset[JobState]) -> int:
        removed, after = 0, None
        while True:
            page = await page_of(after, PAGE)
            for file in page:
                if self._is_old(file.kept_at, YOUNG) and _is_done(await self._job(file.job_id), done):
                    await delete(file.job_id)
                    removed += 1
            if len(page) < PAGE:
                return removed
            after = page[-1].job_id

    async def _sweep_uploads(self) -> int:
        removed, after = 0, ""
        while page := await self._storage.list(UPLOADS, limit=PAGE, after=after):
            for item in page:
                if self._is_old(item.modified_at, UPLOAD_KEPT):
                    await self._storage.delete(item.key)
                    removed += 1
            after = page[-1].key
        return removed

    async def _job(self, job_id: UUID) -> Job | None:
        return await self._board.get(job_id, Sight(None))

    def _is_old(self, moment: datetime, age: timedelta) -> bool:
        return moment < self._clock.now() - age


def _is_done(job: Job | None, done: frozenset[JobState]) -> bool:
    return job is None or job.state in done

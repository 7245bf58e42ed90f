"""Looks for suspects, the jobs that the next crash would make a dead letter, and has them run apart from the others.
Ordinary claims never take one, so while nobody looks they wait and nothing else does."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

import structlog

from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.ports.v1.lease_store import LeaseStore
from quire.jobs.ports.v1.solo_process import SoloProcess
from quire.kernel import QuireError

# A process that ends by itself with an error has not met its suspect yet: settings, say, or no database.
FAILED_START_SECONDS = 10.0

log = structlog.get_logger(__name__)


class SuspectWatch:
    def __init__(
        self,
        store: LeaseStore,
        queues: Sequence[QueuePolicy],
        every_seconds: float,
        run_suspects: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._queues = queues
        self._every_seconds = every_seconds
        self._run_suspects = run_suspects

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._every_seconds * (0.75 + random.random() / 2))
            try:
                if await self._store.suspects_due(self._queues):
                    await self._run_suspects()
            except QuireError as error:
                log.warning("suspects_unseen", error_code=error.code)


async def run_solo_process(process: SoloProcess) -> None:
    """Until no suspect is left, or until one of them killed it."""
    try:
        exit_code = await process.run()
    except OSError as error:
        # No memory for another process, say. Suspects wait; nothing else does.
        log.warning("solo_worker_not_started", error=str(error))
        exit_code = 1
    if exit_code:
        log.warning("solo_worker_died", exit_code=exit_code)
    if exit_code > 0:
        await asyncio.sleep(FAILED_START_SECONDS)

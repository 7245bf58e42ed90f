"""Writes what this process counted to the database every two seconds, so that the API can tell it of all processes.
Nothing is written while nothing changed, but for a sign of life. A process killed between two writes takes what it
counted since the last one with it; no job pays for a write of its own."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Awaitable

import asyncpg
import structlog
from prometheus_client import CollectorRegistry

from quire.kernel import QuireError
from quire.runtime.telemetry.metric_snapshot import Snapshot, subtract, take_snapshot
from quire.runtime.telemetry.metric_store import MetricStore
from quire.runtime.telemetry.metrics import REGISTRY

EVERY_SECONDS = 2.0
SIGN_OF_LIFE_SECONDS = 10.0
LAST_WRITE_SECONDS = 2.0

log = structlog.get_logger(__name__)


class MetricShipper:
    def __init__(self, store: MetricStore, process: str, registry: CollectorRegistry = REGISTRY) -> None:
        self._store = store
        self._process = process
        self._registry = registry
        self._lock = asyncio.Lock()
        self._base: Snapshot = {}
        self._written: Snapshot | None = None
        self._written_at = 0.0
        self.process_id = uuid.uuid4()

    def current(self) -> Snapshot:
        """What this process counted since its row began."""
        return subtract(take_snapshot(self._registry.collect()), self._base)

    async def ship(self) -> None:
        """Afterwards the database has everything counted before the call."""
        async with self._lock:
            taken = take_snapshot(self._registry.collect())
            if taken == self._written and time.monotonic() < self._written_at + SIGN_OF_LIFE_SECONDS:
                return
            if not await self._store.renew(self.process_id, subtract(taken, self._base)):
                await self._begin_row(taken)
            self._written, self._written_at = taken, time.monotonic()

    async def _begin_row(self, taken: Snapshot) -> None:
        if self._written is not None:
            # It was silent for so long that it was counted among the ended: what was written is in their sum.
            self._base = self._written
            self.process_id = uuid.uuid4()
            self._written = None
        await self._store.insert(self.process_id, self._process, subtract(taken, self._base))

    async def run(self) -> None:
        """Rows come with processes, so each that starts folds those that ended."""
        await self._try(self._store.fold_ended())
        while True:
            await self._try(self.ship())
            await asyncio.sleep(EVERY_SECONDS)

    async def finish(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WRITE_SECONDS):
                await self._try(self.ship())

    async def _try(self, write: Awaitable[object]) -> None:
        try:
            await write
        except (QuireError, asyncpg.PostgresError) as error:
            log.warning("metrics_not_written", error=str(error))
        except Exception:
            # Metrics are no reason for a process to stop, nor for measuring to end for good.
            log.exception("metrics_not_written")


@contextlib.asynccontextmanager
async def metrics_shipped(store: MetricStore, process: str) -> AsyncIterator[MetricShipper]:
    """From now on, and once more at the end."""
    shipper = MetricShipper(store, process)
    loop = asyncio.create_task(shipper.run())
    try:
        yield shipper
    finally:
        loop.cancel()
        await asyncio.gather(loop, return_exceptions=True)
        await shipper.finish()

"""Keeps the gauges of the whole cluster fresh: depths, ages, breakers, live workers. One in each API process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from quire.jobs.application import metrics
from quire.jobs.application.upkeep.sweeper import STRAY_SECONDS
from quire.jobs.domain.breaker import BreakerState
from quire.jobs.domain.job import QueueDepth
from quire.jobs.domain.policies import Policies
from quire.jobs.ports.v1.expiry_store import ExpiryStore
from quire.jobs.ports.v1.integration_gate import IntegrationGate
from quire.jobs.ports.v1.job_board import JobBoard
from quire.jobs.ports.v1.worker_registry import WorkerRegistry
from quire.kernel import QuireError

EVERY_SECONDS = 5.0
# Far more than a sweep that keeps up leaves; counting all of a flood would cost as much as sweeping it.
BACKLOG_MAX = 10_000
BREAKER_LEVELS = {BreakerState.CLOSED: 0.0, BreakerState.HALF_OPEN: 0.5, BreakerState.OPEN: 1.0}

log = structlog.get_logger(__name__)


class GaugeRefresher:
    def __init__(
        self,
        board: JobBoard,
        gate: IntegrationGate,
        registry: WorkerRegistry,
        expiry: ExpiryStore,
        policies: Policies,
        on_depth: Callable[[QueueDepth], None] | None = None,
    ) -> None:
        """`on_depth`: for gauges of a context's own."""
        self._on_depth = on_depth
        self._board = board
        self._gate = gate
        self._registry = registry
        self._expiry = expiry
        self._job_days = policies.retention.job_days
        self._queues = sorted(policies.queues.queues)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            try:
                await self.refresh()
            except QuireError as error:
                log.warning("gauges_not_refreshed", error_code=error.code)
            except Exception:
                # Gauges are no reason for a process to stop measuring for good.
                log.exception("gauges_not_refreshed")
            await asyncio.sleep(EVERY_SECONDS)

    async def refresh(self) -> None:
        for depth in await self._board.queue_depths(self._queues):
            for state in ("waiting", "queued", "scheduled", "running"):
                metrics.QUEUE_DEPTH.labels(depth.queue, state).set(getattr(depth, state))
            metrics.QUEUE_AGE.labels(depth.queue).set(depth.oldest_queued_seconds)
            metrics.QUEUE_PAUSED.labels(depth.queue).set(depth.paused_at is not None)
            if self._on_depth is not None:
                self._on_depth(depth)
        for status in await self._gate.status():
            metrics.BREAKER_OPEN.labels(status.name).set(BREAKER_LEVELS[status.breaker])
        metrics.WORKERS_LIVE.set(len(await self._registry.live()))
        for backlog in await self._expiry.backlog(self._job_days, STRAY_SECONDS, BACKLOG_MAX):
            metrics.SWEEP_BACKLOG.labels(backlog.chore).set(backlog.due)
            metrics.SWEEP_OVERDUE.labels(backlog.chore).set(backlog.oldest_seconds)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

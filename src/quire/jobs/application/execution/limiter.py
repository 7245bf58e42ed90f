"""Time limits and stops of running jobs: first the polite signal, then the hard end, then the slot is taken back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection

import structlog

from quire.jobs.application.execution.running_job import RunningJob, StopReason

TICK_SECONDS = 0.1
# A cancelled job gets this long to end by itself, and a hard-stopped one this long to unwind.
CANCEL_GRACE_SECONDS = 5.0
UNWIND_SECONDS = 2.0

log = structlog.get_logger(__name__)


class Limiter:
    """One pass over all running jobs a tick costs less than a timer for each."""

    def __init__(
        self, running: Callable[[], Collection[RunningJob]], abandon: Callable[[RunningJob], None]
    ) -> None:
        self._running = running
        self._abandon = abandon

    async def run(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = time.monotonic()
            for job in list(self._running()):
                self._check(job, now)

    def _check(self, job: RunningJob, now: float) -> None:
        if job.killed_at is not None:
            if now - job.killed_at > UNWIND_SECONDS:
                log.error("handler_abandoned", job_id=str(job.lease.job_id), kind=job.lease.kind)
                self._abandon(job)
        elif now >= job.hard_at:
            kill(job, StopReason.TIMEOUT, now)
        elif job.stop_at is not None and now >= job.stop_at:
            kill(job, job.stop_reason or StopReason.SHUTDOWN, now)
        elif now >= job.soft_at and job.stop_reason is None:
            # A handler that finishes now has still succeeded; one that gives up ran out of time.
            job.stop_reason = StopReason.TIMEOUT
            job.stop_requested.set()


def ask_to_stop(job: RunningJob, reason: StopReason, grace_seconds: float = CANCEL_GRACE_SECONDS) -> None:
    """Cooperative first. A lost lease has no grace: whatever the handler still does is wasted."""
    if job.killed_at is not None or job.stop_reason is StopReason.LEASE_LOST:
        return
    job.stop_reason = reason
    job.stop_at = time.monotonic() + grace_seconds
    job.stop_requested.set()
    if grace_seconds <= 0:
        kill(job, reason, time.monotonic())


def kill(job: RunningJob, reason: StopReason, now: float) -> None:
    """Cancels the task; children of the attempt are killed by the unwinding of `run_child`."""
    job.stop_reason = reason
    job.stop_requested.set()
    job.killed_at = now
    if job.task is not None:
        job.task.cancel()

"""One attempt in this process's hands: its lease, its task, why it should stop, what it spawned."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import StrEnum

from quire.jobs.domain.job import Artifact
from quire.jobs.domain.lease import Lease
from quire.jobs.domain.queue import KindPolicy, QueuePolicy


class StopReason(StrEnum):
    TIMEOUT = "timeout"
    CANCEL = "cancel"
    SHUTDOWN = "shutdown"
    LEASE_LOST = "lease_lost"


@dataclass(slots=True, eq=False)
class RunningJob:
    lease: Lease
    queue: QueuePolicy
    kind: KindPolicy
    task: asyncio.Task[None] | None = None
    stop_reason: StopReason | None = None
    stop_at: float | None = None  # monotonic; when a cooperative stop becomes a hard one
    killed_at: float | None = None
    artifact: Artifact | None = None
    reported: bool = False
    _stop_event: asyncio.Event | None = None

    @property
    def stop_requested(self) -> asyncio.Event:
        """Made when first asked for; most attempts end before anybody does."""
        if self._stop_event is None:
            self._stop_event = asyncio.Event()
        return self._stop_event

    @property
    def soft_at(self) -> float:
        return self.lease.claimed_at + self.queue.soft_limit_seconds

    @property
    def hard_at(self) -> float:
        return self.lease.claimed_at + self.queue.hard_limit_seconds

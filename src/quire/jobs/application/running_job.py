"""One attempt in this process's hands: its lease, its task, why it should stop, what it spawned."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
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
    stop_requested: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    stop_reason: StopReason | None = None
    stop_at: float | None = None  # monotonic; when a cooperative stop becomes a hard one
    killed_at: float | None = None
    artifact: Artifact | None = None
    closers: list[object] = field(default_factory=list)
    reported: bool = False

    @property
    def soft_at(self) -> float:
        return self.lease.claimed_at + self.queue.soft_limit_seconds

    @property
    def hard_at(self) -> float:
        return self.lease.claimed_at + self.queue.hard_limit_seconds

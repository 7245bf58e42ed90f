"""Where ownership of jobs is decided. Every write of a worker carries its fence; a stale one changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from quire.jobs.domain.lease import HeartbeatReply, Lease
from quire.jobs.domain.outcome import Cancelled, Failed, HandedBack, Succeeded
from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.domain.transition import Transition


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim took. `retry_after_seconds`: a throttle held work back that may start then."""

    leases: list[Lease]
    retry_after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """Whose success was accepted, and how many jobs that waited for them may run now."""

    accepted: frozenset[UUID]
    released: int = 0


@dataclass(frozen=True, slots=True)
class Retry:
    """A failed attempt that the policy tries again."""

    failed: Failed
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A failed attempt that was the last."""

    failed: Failed
    transient: bool


@dataclass(frozen=True, slots=True)
class Reclaimed:
    requeued: int = 0
    failed: int = 0
    cancelled: int = 0
    moves: Sequence[Transition] = field(default=(), compare=False)

    @property
    def total(self) -> int:
        return self.requeued + self.failed + self.cancelled


class LeaseStore(Protocol):
    """Writes of outcomes SHALL raise OutcomeUnstorableError, and write nothing, where one of them can never be written;
    what may succeed later raises another error."""

    async def claim(
        self, worker_id: UUID, queues: Sequence[QueuePolicy], limit: int, lease_seconds: float
    ) -> Claim:
        """SHALL hand each due job to one caller only, with a fence greater than any before it.
        SHALL take smaller classes first. SHALL respect pauses, throttles, breakers and tenant rules.
        MAY return fewer than `limit` although more are due."""
        ...

    async def claim_named(
        self,
        worker_id: UUID,
        queues: Sequence[QueuePolicy],
        job_ids: Sequence[UUID],
        limit: int,
        lease_seconds: float,
    ) -> Claim:
        """As `claim`, and first of all those of `job_ids` that no rule of it holds back. Where one of them cannot be
        had (taken, ended, not due, paused, gated, outranked by a smaller class), SHALL fill the room like `claim`."""
        ...

    async def suspects_due(self, queues: Sequence[QueuePolicy]) -> bool:
        """Whether a job that the next crash would make a dead letter waits in one of the queues."""
        ...

    async def claim_suspect(
        self, worker_id: UUID, queues: Sequence[QueuePolicy], lease_seconds: float
    ) -> Claim:
        """As `claim`, but at most one job, and one that the next crash would make a dead letter. No other claim SHALL
        return such a job. The caller SHALL run nothing beside it."""
        ...

    async def complete(self, worker_id: UUID, done: Sequence[Succeeded]) -> Completion:
        """SHALL accept a job only under its current fence; the answer names the accepted ones.
        SHALL release jobs whose last dependency is among them."""
        ...

    async def retry(self, worker_id: UUID, retries: Sequence[Retry]) -> frozenset[UUID]: ...

    async def hand_back(self, worker_id: UUID, returned: Sequence[HandedBack]) -> frozenset[UUID]:
        """SHALL restore the attempt."""
        ...

    async def deferred_seconds(self, lease: Lease, reason: str) -> float:
        """SHALL say for how long the job has been handed back for this reason and no other; 0 for the first time."""
        ...

    async def bury(self, worker_id: UUID, letters: Sequence[DeadLetter]) -> frozenset[UUID]:
        """SHALL open a problem with each failed job and fail what waits for it, all or nothing."""
        ...

    async def cancel(self, worker_id: UUID, cancelled: Sequence[Cancelled]) -> frozenset[UUID]: ...

    async def note_progress(self, worker_id: UUID, lease: Lease, percent: int) -> bool: ...

    async def reclaim(self, page: int) -> Reclaimed:
        """SHALL give back jobs whose lease ran out by the database's clock, at most `page` of them, never waiting
        for a row that someone is writing."""
        ...


class LeaseRenewer(Protocol):
    """Used from the heartbeat's own thread and event loop."""

    async def renew(self, leases: Sequence[tuple[UUID, int]]) -> HeartbeatReply: ...

    async def close(self) -> None: ...

"""A schedule: which job to enqueue, when, and what to do about ticks that were missed or that overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from quire.jobs.domain.schedules.timing import Timing
from quire.kernel import InvalidInputError, NotFoundError

MISSED_MAX = 1_000


class MissedPolicy(StrEnum):
    """What becomes of ticks that nobody was there for."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class OverlapPolicy(StrEnum):
    """What becomes of a tick while the job of an earlier one has not ended."""

    ALLOW = "allow"
    SKIP = "skip"


class TickOutcome(StrEnum):
    ENQUEUED = "enqueued"
    OVERLAPPED = "overlapped"
    REFUSED = "refused"


class ScheduleNotFoundError(NotFoundError):
    code = "SCHEDULE_NOT_FOUND"
    title = "No such schedule"


class KindNotSchedulableError(InvalidInputError):
    code = "KIND_NOT_SCHEDULABLE"
    title = "No schedule can make jobs of this kind"


@dataclass(frozen=True, slots=True)
class Schedule:
    """`grace_seconds`: a tick that is at most this late counts as on time."""

    name: str
    tenant_id: str
    kind: str
    timing: Timing
    payload: Mapping[str, object] = field(default_factory=dict)
    queue: str | None = None
    missed: MissedPolicy = MissedPolicy.ONCE
    missed_max: int = 100
    overlap: OverlapPolicy = OverlapPolicy.ALLOW
    grace_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """A schedule as stored: ticks up to `handled_until` have been dealt with."""

    schedule: Schedule
    handled_until: datetime
    next_at: datetime | None
    paused_at: datetime | None = None
    paused_by: str | None = None
    last_tick_at: datetime | None = None
    last_outcome: TickOutcome | None = None
    last_job_id: UUID | None = None
    last_job_state: str | None = None
    last_error_code: str | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """What became of one tick."""

    at: datetime
    outcome: TickOutcome
    job_id: UUID | None = None
    error_code: str | None = None


def due_ticks(schedule: Schedule, handled_until: datetime, now: datetime) -> Sequence[datetime]:
    """The ticks to act on now, oldest first. Those it leaves out are never enqueued."""
    if now <= handled_until:
        return ()
    if schedule.missed is MissedPolicy.ALL:
        return schedule.timing.newest(handled_until, now, schedule.missed_max)
    newest = schedule.timing.newest(handled_until, now, 1)
    if schedule.missed is MissedPolicy.ONCE:
        return newest
    grace = timedelta(seconds=schedule.grace_seconds)
    return [tick for tick in newest if tick >= now - grace]

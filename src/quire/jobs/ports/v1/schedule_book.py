"""Where schedules and what became of their ticks are kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from quire.jobs.domain.schedules.schedule import Schedule, ScheduleState, Tick
from quire.jobs.ports.v1.submission_store import SubmissionStore


class DueSchedule(Protocol):
    """One schedule that is due, locked: nobody else acts on it until the transaction ends."""

    @property
    def state(self) -> ScheduleState: ...

    @property
    def submissions(self) -> SubmissionStore:
        """What it stores SHALL commit with the ticks, or not at all."""

    @property
    def is_tenant_disabled(self) -> bool: ...

    async def now(self) -> datetime:
        """The database's clock. SHALL take no second connection: callers that hold this schedule's lock while they wait
        for one, and others that wait for the lock with all the connections, would wait for each other."""

    def step(self) -> AbstractAsyncContextManager[None]:
        """What is written inside SHALL be undone when it raises; what was written before stays."""

    async def is_last_job_unfinished(self) -> bool: ...

    async def begin(self, tick_at: datetime) -> bool:
        """SHALL be False, and change nothing, when somebody dealt with that tick before."""

    async def note(self, tick: Tick) -> None:
        """What became of a tick that was begun."""

    async def move_on(
        self, handled_until: datetime, next_at: datetime | None, error_code: str | None = None
    ) -> None:
        """It SHALL be due again at `next_at`. `error_code`: why ticks after `handled_until` could not be enqueued."""


class ScheduleBook(Protocol):
    async def now(self) -> datetime:
        """The database's clock."""

    async def register(self, schedules: Sequence[Schedule], now: datetime) -> None:
        """SHALL make the configured schedules these: new ones start at `now`, known ones keep what was handled,
        others are forgotten. May be repeated by every process."""

    def take_due(self, now: datetime) -> AbstractAsyncContextManager[DueSchedule | None]:
        """A transaction with one due schedule that no other process holds; None when there is none. One that this
        release cannot read SHALL not keep it from the others."""

    def take(self, schedule: Schedule) -> AbstractAsyncContextManager[DueSchedule]:
        """The same with this one, due or not; waits for whoever holds it.
        SHALL raise ScheduleNotFoundError when it is gone."""

    async def list(self, tenant_id: str | None) -> Sequence[ScheduleState]:
        """By name; of every tenant when None. Without those that this release cannot read."""

    async def get(self, name: str, tenant_id: str | None) -> ScheduleState | None: ...

    async def ticks(self, schedule: Schedule, limit: int) -> Sequence[Tick]:
        """Newest first."""

    async def pause(self, schedule: Schedule, actor: str) -> None: ...

    async def resume(self, schedule: Schedule, now: datetime, next_at: datetime | None) -> None:
        """What would have ticked while it was paused SHALL not be made up for."""

"""Enqueues the job of every tick, once, whatever the number of processes that run this loop.

A due schedule is locked, its ticks are noted under a unique key (schedule, tick), and its jobs are stored in the same
transaction: a process that dies in the middle leaves nothing behind, and the next one starts over.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import structlog

from quire.jobs.application import metrics
from quire.jobs.application.enqueue_jobs import Announcement, Intake
from quire.jobs.application.schedules.enqueue_tick import enqueue_tick
from quire.jobs.domain.schedules.schedule import (
    OverlapPolicy,
    Schedule,
    Tick,
    TickOutcome,
    due_ticks,
)
from quire.jobs.domain.schedules.timing import next_tick
from quire.jobs.ports.v1.schedule_book import DueSchedule, ScheduleBook
from quire.kernel import QuireError

LOOK_SECONDS = 1.0
# A tick that could not be enqueued for now, such as while its tenant's quota is full.
POSTPONE_SECONDS = 15.0
ROUND_MAX = 100

log = structlog.get_logger(__name__)


class _RefusedForNow(Exception):  # noqa: N818  # no error: it carries the refusal out of the transaction
    def __init__(self, schedule: Schedule, error: QuireError) -> None:
        super().__init__(error.code)
        self.schedule = schedule
        self.error = error


class Scheduler:
    def __init__(
        self,
        book: ScheduleBook,
        intake: Intake,
        *,
        look_seconds: float = LOOK_SECONDS,
        now: Callable[[], Awaitable[datetime]] | None = None,
    ) -> None:
        """`now`: instead of the database's clock."""
        self._book = book
        self._intake = intake
        self._look_seconds = look_seconds
        self._now = now or book.now

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds * (0.75 + random.random() / 2))
            try:
                await self.act()
            except QuireError as error:
                log.warning("schedules_not_looked_at", error_code=error.code)

    async def act(self) -> int:
        """Acts on every schedule that is due and that nobody else holds; how many."""
        for acted in range(ROUND_MAX):
            if not await self._act_on_one(await self._now()):
                return acted
        return ROUND_MAX

    async def _act_on_one(self, now: datetime) -> bool:
        announcement = Announcement()
        try:
            async with self._book.take_due(now) as due:
                if due is None:
                    return False
                await self._tick(due, now, announcement)
        except _RefusedForNow as refused:
            await self._postpone(refused, now)
            return True
        announcement.send(self._intake)
        return True

    async def _tick(self, due: DueSchedule, now: datetime, announcement: Announcement) -> None:
        schedule = due.state.schedule
        for at in due_ticks(schedule, due.state.handled_until, now):
            if await due.begin(at):
                tick = await self._enqueue(due, at, announcement)
                await due.note(tick)
                metrics.SCHEDULE_TICKS.labels(tick.outcome).inc()
                log.info(
                    "schedule_ticked", schedule=schedule.name, tick_at=at.isoformat(), outcome=tick.outcome
                )
        await due.move_on(max(now, due.state.handled_until), next_tick(schedule.timing, now))

    async def _enqueue(self, due: DueSchedule, at: datetime, announcement: Announcement) -> Tick:
        schedule = due.state.schedule
        if schedule.overlap is OverlapPolicy.SKIP and await due.is_last_job_unfinished():
            return Tick(at, TickOutcome.OVERLAPPED)
        try:
            return await enqueue_tick(self._intake, due, at, announcement)
        except QuireError as error:
            if error.retryable:
                raise _RefusedForNow(schedule, error) from error
            log.error("schedule_refused", schedule=schedule.name, error_code=error.code, detail=error.detail)
            return Tick(at, TickOutcome.REFUSED, error_code=error.code)

    async def _postpone(self, refused: _RefusedForNow, now: datetime) -> None:
        schedule, error = refused.schedule, refused.error
        log.warning("schedule_postponed", schedule=schedule.name, error_code=error.code)
        await self._book.postpone(schedule, now + timedelta(seconds=POSTPONE_SECONDS), error.code)

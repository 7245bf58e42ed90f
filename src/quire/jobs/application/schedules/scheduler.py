"""Enqueues the job of every tick, once, whatever the number of processes that run this loop.

A due schedule is locked, its ticks are noted under a unique key (schedule, tick), and its jobs are stored in the same
transaction: a process that dies in the middle leaves nothing behind, and the next one starts over.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from quire.jobs.application import metrics
from quire.jobs.application.intake.enqueue_jobs import Announcement
from quire.jobs.application.schedules.enqueue_tick import TickIntake, enqueue_tick
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
TICK_FAILED = "SCHEDULE_TICK_FAILED"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Dealt:
    """What a round made of one schedule. `refused`: why the rest of its ticks stays due."""

    schedule: Schedule
    ticks: Sequence[Tick]
    refused: Exception | None = None


class Scheduler:
    def __init__(
        self,
        book: ScheduleBook,
        intake: TickIntake,
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
        async with self._book.take_due(now) as due:
            if due is None:
                return False
            dealt = await self._deal(due, now, announcement)
        announcement.send(self._intake.intake)
        _tell(dealt)
        return True

    async def _deal(self, due: DueSchedule, now: datetime, announcement: Announcement) -> _Dealt:
        """Ticks that are refused for now stay due, and those before them count: a quota that takes ten jobs must not
        hold a schedule up for ever because it missed eleven."""
        schedule, handled_until = due.state.schedule, due.state.handled_until
        ticks: list[Tick] = []
        for at in due_ticks(schedule, handled_until, now):
            try:
                async with due.step():
                    if await due.begin(at):
                        tick = await self._enqueue(due, at, announcement)
                        await due.note(tick)
                        ticks.append(tick)
            except Exception as error:
                # Whatever it is: a schedule that is tried first each second would keep the others from their turn.
                await due.move_on(handled_until, now + timedelta(seconds=POSTPONE_SECONDS), _code_of(error))
                return _Dealt(schedule, ticks, error)
            handled_until = at
        await due.move_on(max(now, handled_until), next_tick(schedule.timing, now))
        return _Dealt(schedule, ticks)

    async def _enqueue(self, due: DueSchedule, at: datetime, announcement: Announcement) -> Tick:
        """Raises only what is worth another try."""
        schedule = due.state.schedule
        if schedule.overlap is OverlapPolicy.SKIP and await due.is_last_job_unfinished():
            return Tick(at, TickOutcome.OVERLAPPED)
        try:
            return await enqueue_tick(self._intake, due, at, announcement)
        except QuireError as error:
            if error.retryable:
                raise
            log.error("schedule_refused", schedule=schedule.name, error_code=error.code, detail=error.detail)
            return Tick(at, TickOutcome.REFUSED, error_code=error.code)


def _tell(dealt: _Dealt) -> None:
    """After the commit: what was rolled back is neither counted nor logged."""
    for tick in dealt.ticks:
        metrics.SCHEDULE_TICKS.labels(tick.outcome).inc()
        log.info(
            "schedule_ticked",
            schedule=dealt.schedule.name,
            tick_at=tick.at.isoformat(),
            outcome=tick.outcome,
        )
    if dealt.refused is not None:
        known = isinstance(dealt.refused, QuireError)
        log.warning(
            "schedule_postponed",
            schedule=dealt.schedule.name,
            error_code=_code_of(dealt.refused),
            exc_info=None if known else dealt.refused,
        )


def _code_of(error: Exception) -> str:
    return error.code if isinstance(error, QuireError) else TICK_FAILED

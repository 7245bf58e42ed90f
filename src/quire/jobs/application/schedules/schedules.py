"""What operators do with schedules: list, show, pause, resume, run now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import islice

from quire.jobs.application.intake.enqueue_jobs import Announcement
from quire.jobs.application.schedules.enqueue_tick import TickIntake, enqueue_tick
from quire.jobs.domain.schedules.schedule import ScheduleNotFoundError, ScheduleState, Tick
from quire.jobs.domain.schedules.timing import next_tick
from quire.jobs.ports.v1.schedule_book import ScheduleBook
from quire.kernel import there_is
from quire.runtime.auth import PLATFORM_SCOPE, Principal, requires

HISTORY = 20


@requires("operator")
async def list_schedules(book: ScheduleBook, caller: Principal) -> Sequence[ScheduleState]:
    """Those of the caller's tenant; of every tenant with the scope `platform`."""
    return await book.list(_tenant(caller))


@requires("operator")
async def show_schedule(
    book: ScheduleBook, caller: Principal, name: str
) -> tuple[ScheduleState, Sequence[Tick]]:
    state = await _find(book, caller, name)
    return state, await book.ticks(state.schedule, HISTORY)


@requires("operator")
async def next_ticks(book: ScheduleBook, caller: Principal, name: str, count: int) -> list[datetime]:
    state = await _find(book, caller, name)
    return list(islice(state.schedule.timing.after(max(state.handled_until, await book.now())), count))


@requires("operator")
async def pause_schedule(book: ScheduleBook, caller: Principal, name: str) -> ScheduleState:
    """It ticks no more until it is resumed. Jobs that it enqueued go on."""
    state = await _find(book, caller, name)
    await book.pause(state.schedule, caller.id)
    return await _find(book, caller, name)


@requires("operator")
async def resume_schedule(book: ScheduleBook, caller: Principal, name: str) -> ScheduleState:
    """It ticks again from now on; what it missed while paused is not made up for."""
    state = await _find(book, caller, name)
    now = await book.now()
    await book.resume(state.schedule, now, next_tick(state.schedule.timing, now))
    return await _find(book, caller, name)


@requires("operator")
async def run_schedule_now(book: ScheduleBook, intake: TickIntake, caller: Principal, name: str) -> Tick:
    """One more job at once, paused or not; the regular ticks stay as they are."""
    state = await _find(book, caller, name)
    announcement = Announcement()
    async with book.take(state.schedule) as taken:
        at = await taken.now()
        await taken.begin(at)
        tick = await enqueue_tick(intake, taken, at, announcement)
        await taken.note(tick)
    announcement.send(intake.intake)
    return tick


async def _find(book: ScheduleBook, caller: Principal, name: str) -> ScheduleState:
    state = await book.get(name, caller.tenant_id)
    if state is None and _tenant(caller) is None:
        state = await book.get(name, None)
    if state is None:
        known = [item.schedule.name for item in await book.list(_tenant(caller))]
        raise ScheduleNotFoundError(f"no schedule named {name[:100]!r}; {there_is(known, name)}")
    return state


def _tenant(caller: Principal) -> str | None:
    return None if caller.has_scope(PLATFORM_SCOPE) else caller.tenant_id

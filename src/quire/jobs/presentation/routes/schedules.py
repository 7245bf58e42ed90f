"""`/schedules`: work that comes round by the clock, for operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query

from quire.jobs.application.schedules.enqueue_tick import TickIntake
from quire.jobs.application.schedules.schedules import (
    list_schedules,
    next_ticks,
    pause_schedule,
    resume_schedule,
    run_schedule_now,
    show_schedule,
)
from quire.jobs.ports.v1.schedule_book import ScheduleBook
from quire.jobs.presentation.schemas.schedule import (
    NextTicks,
    ScheduleDetail,
    ScheduleList,
    ScheduleView,
    TickView,
    next_ticks_view,
    schedule_detail,
    schedule_view,
)
from quire.runtime.auth import Principal
from quire.runtime.http import StrictRoute, allowed

ScheduleName = Annotated[str, Path(min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True)
class ScheduleRouteParts:
    book: ScheduleBook
    intake: TickIntake


def schedule_routes(parts: ScheduleRouteParts) -> APIRouter:
    router = APIRouter(tags=["schedules"], route_class=StrictRoute)
    book = parts.book

    @router.get("/schedules", name="list_schedules")
    async def list_(caller: Annotated[Principal, allowed(list_schedules)]) -> ScheduleList:
        """By name; of every tenant with the scope `platform`."""
        return ScheduleList(items=[schedule_view(state) for state in await list_schedules(book, caller)])

    @router.get("/schedules/{name}", name="show_schedule")
    async def show(
        caller: Annotated[Principal, allowed(show_schedule)], name: ScheduleName
    ) -> ScheduleDetail:
        """With its newest ticks and what became of them."""
        return schedule_detail(*await show_schedule(book, caller, name))

    @router.get("/schedules/{name}/next", name="next_schedule_ticks")
    async def next_(
        caller: Annotated[Principal, allowed(next_ticks)],
        name: ScheduleName,
        count: Annotated[int, Query(ge=1, le=100)] = 5,
    ) -> NextTicks:
        """The next ticks, in UTC and by the clock of the schedule's time zone."""
        state, _ = await show_schedule(book, caller, name)
        return next_ticks_view(state, await next_ticks(book, caller, name, count))

    @router.post("/schedules/{name}/pause", name="pause_schedule")
    async def pause(
        caller: Annotated[Principal, allowed(pause_schedule)], name: ScheduleName
    ) -> ScheduleView:
        """It ticks no more until it is resumed. Jobs that it enqueued go on."""
        return schedule_view(await pause_schedule(book, caller, name))

    @router.post("/schedules/{name}/resume", name="resume_schedule")
    async def resume(
        caller: Annotated[Principal, allowed(resume_schedule)], name: ScheduleName
    ) -> ScheduleView:
        """It ticks again from now on; what it missed while paused is not made up for."""
        return schedule_view(await resume_schedule(book, caller, name))

    @router.post("/schedules/{name}/run", name="run_schedule_now")
    async def run(caller: Annotated[Principal, allowed(run_schedule_now)], name: ScheduleName) -> TickView:
        """One more job at once; the regular ticks stay as they are."""
        tick = await run_schedule_now(book, parts.intake, caller, name)
        return TickView.model_validate(tick)

    return router

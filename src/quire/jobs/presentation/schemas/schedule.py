"""Schedules as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict

from quire.jobs.domain.schedules.schedule import MissedPolicy, OverlapPolicy, ScheduleState, Tick, TickOutcome
from quire.jobs.domain.schedules.timing import Cron, Interval


class TickView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    at: datetime
    outcome: TickOutcome
    job_id: UUID | None
    error_code: str | None


class ScheduleView(BaseModel):
    name: str
    tenant_id: str
    kind: str
    queue: str | None
    cron: str | None
    zone: str | None
    every_seconds: float | None
    missed: MissedPolicy
    overlap: OverlapPolicy
    paused_at: datetime | None
    paused_by: str | None
    next_at: datetime | None
    last_tick_at: datetime | None
    last_outcome: TickOutcome | None
    last_job_id: UUID | None
    last_job_state: str | None
    last_error_code: str | None


class ScheduleDetail(ScheduleView):
    payload: dict[str, Any]
    ticks: list[TickView]


class ScheduleList(BaseModel):
    items: list[ScheduleView]


class NextTick(BaseModel):
    at: datetime
    local: str


class NextTicks(BaseModel):
    items: list[NextTick]


def schedule_view(state: ScheduleState) -> ScheduleView:
    return ScheduleView(**_fields(state))


def schedule_detail(state: ScheduleState, ticks: Sequence[Tick]) -> ScheduleDetail:
    views = [TickView.model_validate(tick) for tick in ticks]
    return ScheduleDetail(**_fields(state), payload=dict(state.schedule.payload), ticks=views)


def next_ticks_view(state: ScheduleState, ticks: Sequence[datetime]) -> NextTicks:
    timing = state.schedule.timing
    zone = ZoneInfo(timing.zone if isinstance(timing, Cron) else "UTC")
    items = [NextTick(at=tick, local=tick.astimezone(zone).isoformat()) for tick in ticks]
    return NextTicks(items=items)


def _fields(state: ScheduleState) -> dict[str, Any]:
    schedule, timing = state.schedule, state.schedule.timing
    return {
        "name": schedule.name,
        "tenant_id": schedule.tenant_id,
        "kind": schedule.kind,
        "queue": schedule.queue,
        "cron": timing.expression if isinstance(timing, Cron) else None,
        "zone": timing.zone if isinstance(timing, Cron) else None,
        "every_seconds": timing.seconds if isinstance(timing, Interval) else None,
        "missed": schedule.missed,
        "overlap": schedule.overlap,
        "paused_at": state.paused_at,
        "paused_by": state.paused_by,
        # A paused schedule comes to nothing.
        "next_at": None if state.paused_at else state.next_at,
        "last_tick_at": state.last_tick_at,
        "last_outcome": state.last_outcome,
        "last_job_id": state.last_job_id,
        "last_job_state": state.last_job_state,
        "last_error_code": state.last_error_code,
    }

"""Schedules and ticks on Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import structlog

from quire.jobs.domain.schedules.schedule import (
    MissedPolicy,
    OverlapPolicy,
    Schedule,
    ScheduleNotFoundError,
    ScheduleState,
    Tick,
    TickOutcome,
)
from quire.jobs.domain.schedules.timing import Cron, Interval, next_tick
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.infrastructure.postgres.submission_store import PostgresSubmissionStore
from quire.kernel import QuireError, canonical_json
from quire.runtime.database import Connection, Database, JoinedDatabase

SQL = load("schedules.sql")
UNREADABLE_WAIT = timedelta(minutes=1)

log = structlog.get_logger(__name__)


class PostgresDueSchedule:
    def __init__(self, connection: Connection, state: ScheduleState, *, is_tenant_disabled: bool) -> None:
        self._connection = connection
        self._place = (state.schedule.tenant_id, state.schedule.name)
        self.state = state
        self.is_tenant_disabled = is_tenant_disabled
        self.submissions = PostgresSubmissionStore(JoinedDatabase(connection))

    async def now(self) -> datetime:
        moment: datetime = await self._connection.fetchval(SQL["database_now"])
        return moment

    @asynccontextmanager
    async def step(self) -> AsyncIterator[None]:
        async with self._connection.transaction():
            yield

    async def is_last_job_unfinished(self) -> bool:
        return bool(await self._connection.fetchval(SQL["last_job_unfinished"], *self._place))

    async def begin(self, tick_at: datetime) -> bool:
        return bool(await self._connection.fetchval(SQL["begin_tick"], *self._place, tick_at))

    async def note(self, tick: Tick) -> None:
        await self._connection.execute(
            SQL["note_tick"], *self._place, tick.at, tick.outcome, tick.job_id, tick.error_code
        )

    async def move_on(
        self, handled_until: datetime, next_at: datetime | None, error_code: str | None = None
    ) -> None:
        await self._connection.execute(SQL["move_on"], *self._place, handled_until, next_at, error_code)


class PostgresScheduleBook:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def now(self) -> datetime:
        async with self._database.acquire() as connection:
            moment: datetime = await connection.fetchval(SQL["database_now"])
        return moment

    async def register(self, schedules: Sequence[Schedule], now: datetime) -> None:
        tenants, names = [s.tenant_id for s in schedules], [s.name for s in schedules]
        async with self._database.transaction() as connection:
            await connection.execute(SQL["lock_registration"])
            await connection.execute(
                SQL["register_schedules"],
                tenants,
                names,
                [canonical_json(_definition(s)).decode() for s in schedules],
                now,
                [next_tick(s.timing, now) for s in schedules],
            )
            forgotten = await connection.fetch(SQL["forget_schedules"], tenants, names)
        if forgotten:
            # Meant, or a machine whose configuration is not that of the others: then their work has just stopped.
            log.warning("schedules_forgotten", schedules=[row["name"] for row in forgotten])

    @asynccontextmanager
    async def take_due(self, now: datetime) -> AsyncIterator[PostgresDueSchedule | None]:
        async with self._database.transaction() as connection:
            yield await _first_readable(connection, now)

    @asynccontextmanager
    async def take(self, schedule: Schedule) -> AsyncIterator[PostgresDueSchedule]:
        async with self._database.transaction() as connection:
            row = await connection.fetchrow(SQL["take"], schedule.tenant_id, schedule.name)
            if row is None:
                raise ScheduleNotFoundError(f"no schedule named {schedule.name!r}")
            yield _due(connection, row)

    async def list(self, tenant_id: str | None) -> Sequence[ScheduleState]:
        return await self._fetch(tenant_id, None)

    async def get(self, name: str, tenant_id: str | None) -> ScheduleState | None:
        found = await self._fetch(tenant_id, name)
        return found[0] if found else None

    async def ticks(self, schedule: Schedule, limit: int) -> Sequence[Tick]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["list_ticks"], schedule.tenant_id, schedule.name, limit)
        return [Tick(r["tick_at"], TickOutcome(r["outcome"]), r["job_id"], r["error_code"]) for r in rows]

    async def pause(self, schedule: Schedule, actor: str) -> None:
        await self._execute(SQL["pause"], schedule, actor)

    async def resume(self, schedule: Schedule, now: datetime, next_at: datetime | None) -> None:
        await self._execute(SQL["resume"], schedule, now, next_at)

    async def _fetch(self, tenant_id: str | None, name: str | None) -> Sequence[ScheduleState]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["list_schedules"], tenant_id, name)
        return [_state(row) for row in rows if _is_readable(row)]

    async def _execute(self, statement: str, schedule: Schedule, *arguments: object) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(statement, schedule.tenant_id, schedule.name, *arguments)


async def _first_readable(connection: Connection, now: datetime) -> PostgresDueSchedule | None:
    """What another release wrote is put off, not tried first each second: the others would never have their turn."""
    while (row := await connection.fetchrow(SQL["take_due"], now)) is not None:
        if _is_readable(row):
            return _due(connection, row)
        await connection.execute(SQL["put_off"], row["tenant_id"], row["name"], now + UNREADABLE_WAIT)
    return None


def _due(connection: Connection, row: asyncpg.Record) -> PostgresDueSchedule:
    return PostgresDueSchedule(connection, _state(row), is_tenant_disabled=row["tenant_disabled"])


def _is_readable(row: asyncpg.Record) -> bool:
    try:
        _state(row)
    except (QuireError, LookupError, TypeError, ValueError) as error:
        log.error("schedule_unreadable", schedule=row["name"], error=f"{type(error).__name__}: {error}")
        return False
    return True


def _definition(schedule: Schedule) -> dict[str, Any]:
    timing = schedule.timing
    when: dict[str, Any] = (
        {"cron": timing.expression, "zone": timing.zone}
        if isinstance(timing, Cron)
        else {"every_seconds": timing.seconds}
    )
    return {
        **when,
        "kind": schedule.kind,
        "payload": dict(schedule.payload),
        "queue": schedule.queue,
        "missed": schedule.missed,
        "missed_max": schedule.missed_max,
        "overlap": schedule.overlap,
        "grace_seconds": schedule.grace_seconds,
    }


def _schedule(tenant_id: str, name: str, definition: Mapping[str, Any]) -> Schedule:
    every = definition.get("every_seconds")
    return Schedule(
        name=name,
        tenant_id=tenant_id,
        kind=definition["kind"],
        timing=Cron(definition["cron"], definition["zone"]) if every is None else Interval(every),
        payload=definition["payload"],
        queue=definition["queue"],
        missed=MissedPolicy(definition["missed"]),
        missed_max=definition["missed_max"],
        overlap=OverlapPolicy(definition["overlap"]),
        grace_seconds=definition["grace_seconds"],
    )


def _state(row: asyncpg.Record) -> ScheduleState:
    outcome = row.get("last_outcome")
    return ScheduleState(
        schedule=_schedule(row["tenant_id"], row["name"], row["definition"]),
        handled_until=row["handled_until"],
        next_at=row["next_at"],
        paused_at=row["paused_at"],
        paused_by=row["paused_by"],
        last_tick_at=row.get("last_tick_at"),
        last_outcome=None if outcome is None else TickOutcome(outcome),
        last_job_id=row.get("last_job_id"),
        last_job_state=row.get("last_job_state"),
        last_error_code=row["last_error_code"] or row.get("last_tick_error"),
    )

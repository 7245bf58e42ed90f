"""Each tick is enqueued exactly once while schedulers are killed, clocks jump and an hour comes twice."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta

from tests.support.fast_scheduler import BEGIN, SCHEDULES, fast_clock
from tests.support.processes import WorkerProcess, WorkerYard

from quire.entrypoints.engine import Engine
from quire.jobs.application.schedules.enqueue_tick import TickIntake
from quire.jobs.application.schedules.scheduler import Scheduler
from quire.jobs.infrastructure.postgres.schedule_book import PostgresScheduleBook

PROGRAM = ("-m", "tests.support.fast_scheduler")
UNTIL = BEGIN + timedelta(days=2)
KILLS_MIN = 6


async def test_each_tick_is_enqueued_once_while_schedulers_are_killed_and_the_clock_changes(
    engine: Engine, yard: WorkerYard
) -> None:
    book = PostgresScheduleBook(engine.database)
    await book.register(SCHEDULES, BEGIN)
    started = await book.now()
    clock = fast_clock(book, started)
    processes = [_start(yard, started) for _ in range(3)]
    kills = 0
    while kills < KILLS_MIN or await clock() < UNTIL:
        victim = random.randrange(3)
        await processes[victim].said("ticking", within_seconds=60)
        await asyncio.sleep(random.uniform(0.0, 0.5))
        processes[victim].kill()
        kills += 1
        processes[victim] = _start(yard, started)
    for process in processes:
        process.kill()
    by_processes = await _ticks(engine)
    await Scheduler(book, TickIntake(engine.intake, {}), now=clock).act()

    async with engine.database.acquire() as connection:
        rows = await connection.fetch("SELECT schedule, tick_at, job_id FROM schedule_ticks ORDER BY tick_at")
        jobs = await connection.fetch("SELECT id FROM jobs")
        handled = dict(await connection.fetch("SELECT name, handled_until FROM schedules"))
    assert sorted(row["job_id"] for row in rows) == sorted(row["id"] for row in jobs)
    for schedule in SCHEDULES:
        ticks = [row["tick_at"] for row in rows if row["schedule"] == schedule.name]
        assert ticks == schedule.timing.newest(BEGIN, handled[schedule.name], 1000)
    assert handled["often"] >= UNTIL
    assert by_processes > 90, "the test itself did the work"


async def _somebody_ticked(engine: Engine) -> bool:
    async with engine.database.acquire() as connection:
        return bool(
            await connection.fetchval("SELECT count(*) FROM schedule_ticks WHERE schedule = 'nightly'")
        )


async def _ticks(engine: Engine) -> int:
    async with engine.database.acquire() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM schedule_ticks"))


def _start(yard: WorkerYard, started: datetime) -> WorkerProcess:
    return yard.start(PROGRAM, TEST_STARTED_AT=started.isoformat())

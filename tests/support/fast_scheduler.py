"""A scheduler process whose clock runs thousands of times faster than the database's, and jumps. Every such process
shares it: it is computed from the database's clock and the moment the test began."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import uvloop

from quire.entrypoints.engine import open_engine
from quire.jobs.application.schedules.enqueue_tick import TickIntake
from quire.jobs.application.schedules.scheduler import Scheduler
from quire.jobs.domain.schedules.schedule import MissedPolicy, Schedule
from quire.jobs.domain.schedules.timing import Cron
from quire.jobs.infrastructure.postgres.schedule_book import PostgresScheduleBook
from quire.runtime.settings import load_settings

# From the day before clocks go back in Berlin, three hours a second.
BEGIN = datetime.fromisoformat("2026-10-24T12:00:00+00:00")
SPEED = 3 * 3600.0
# Between these seconds of the test every clock is five hours ahead.
AHEAD = timedelta(hours=5)
AHEAD_FROM, AHEAD_UNTIL = 7.0, 9.0

SCHEDULES = [
    Schedule(name, "acme", "jobs.noop", Cron(cron, "Europe/Berlin"), missed=MissedPolicy.ALL, missed_max=1000)
    for name, cron in [("nightly", "30 2 * * *"), ("often", "*/30 * * * *"), ("at_noon", "0 12 * * *")]
]


def fast_clock(book: PostgresScheduleBook, started: datetime) -> Callable[[], Awaitable[datetime]]:
    async def now() -> datetime:
        elapsed = (await book.now() - started).total_seconds()
        ahead = AHEAD if AHEAD_FROM <= elapsed < AHEAD_UNTIL else timedelta(0)
        return BEGIN + timedelta(seconds=elapsed * SPEED) + ahead

    return now


async def main() -> None:
    async with open_engine(load_settings(), application="fast-scheduler") as engine:
        book = PostgresScheduleBook(engine.database)
        clock = fast_clock(book, datetime.fromisoformat(os.environ["TEST_STARTED_AT"]))
        await book.register(SCHEDULES, await clock())
        print(json.dumps({"event": "ticking"}), flush=True)
        await Scheduler(book, TickIntake(engine.intake, {}), look_seconds=0.02, now=clock).run()


if __name__ == "__main__":
    uvloop.run(main())

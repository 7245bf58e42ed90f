"""`/schedules` and `quire schedules`: who sees what, pausing, resuming, running now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.jobs_office import Office, ended, open_office, refused
from tests.support.quire_command import QuireCommand

from quire.jobs.domain.schedules.schedule import Schedule
from quire.jobs.domain.schedules.timing import Cron, Interval
from quire.jobs.infrastructure.postgres.schedule_book import PostgresScheduleBook
from quire.runtime.database import Database

NIGHTLY = Schedule("nightly", "acme", "jobs.noop", Cron("30 2 * * *", "Europe/Berlin"))
OTHERS = Schedule("others", "umbrella", "jobs.noop", Interval(3600))


@pytest.fixture
async def office(dsn: str, database: Database, tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(dsn, database, tmp_path) as office:
        book = PostgresScheduleBook(database)
        await book.register([NIGHTLY, OTHERS], await book.now())
        yield office


@pytest.fixture
def quire(office: Office) -> QuireCommand:
    return QuireCommand(office.url, office.admin_token, office.directory)


async def test_operators_see_the_schedules_of_their_tenant_and_users_none(office: Office) -> None:
    operator = await office.caller("olga", "operator", "acme")
    listed = (await operator.get("/schedules")).json()["items"]
    assert [item["name"] for item in listed] == ["nightly"]
    refused(await operator.get("/schedules/others"), 404, "SCHEDULE_NOT_FOUND")
    refused(await operator.post("/schedules/others/run"), 404, "SCHEDULE_NOT_FOUND")
    every = (await office.admin.get("/schedules")).json()["items"]
    assert [item["name"] for item in every] == ["nightly", "others"]
    user = await office.caller("ann", "user", "acme")
    refused(await user.get("/schedules"), 403, "ROLE_REQUIRED")


async def test_next_ticks_are_told_by_the_clock_of_the_zone(office: Office) -> None:
    ticks = (await office.admin.get("/schedules/nightly/next", params={"count": 3})).json()["items"]
    assert len(ticks) == 3
    assert all(tick["local"][10:16] == "T02:30" or tick["local"][10:16] == "T03:00" for tick in ticks)


async def test_a_paused_schedule_has_no_next_tick_until_it_is_resumed(office: Office) -> None:
    paused = (await office.admin.post("/schedules/nightly/pause")).json()
    assert (paused["next_at"], paused["paused_by"]) == (None, "default/admin")
    assert (await office.admin.post("/schedules/nightly/resume")).json()["next_at"] is not None


async def test_a_schedule_run_now_enqueues_a_job_that_a_worker_does(office: Office) -> None:
    tick = (await office.admin.post("/schedules/nightly/run")).json()
    await office.start_worker()
    operator = await office.caller("olga", "operator", "acme")
    assert (await ended(operator, tick["job_id"]))["state"] == "succeeded"
    shown = (await operator.get("/schedules/nightly")).json()
    assert [entry["job_id"] for entry in shown["ticks"]] == [tick["job_id"]]
    assert shown["last_job_state"] == "succeeded"


async def test_a_schedule_run_many_times_at_once_holds_no_other_caller_up(office: Office) -> None:
    operator = await office.caller("olga", "operator", "acme")
    runs = [asyncio.create_task(operator.post("/schedules/nightly/run")) for _ in range(40)]
    answers = [await run for run in runs]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["job_id"] for answer in answers}) == 40


async def test_the_command_lists_shows_pauses_and_runs_them(office: Office, quire: QuireCommand) -> None:
    listed = await quire("schedules", "list")
    assert "30 2 * * * (Europe/Berlin)" in listed.out
    assert "every 1.0 h" in listed.out
    job_id = (await quire("schedules", "run-now", "nightly")).out.strip()
    shown = await quire("schedules", "show", "nightly")
    assert job_id in shown.out
    assert "enqueued" in shown.out
    paused = await quire("schedules", "pause", "nightly")
    assert "paused" in paused.out
    assert "never" in paused.out
    assert len((await quire("schedules", "next", "nightly", "--count", "2", "--json")).json) == 2
    unknown = await quire("schedules", "show", "nightlee")
    assert unknown.code == 1
    assert "SCHEDULE_NOT_FOUND" in unknown.err

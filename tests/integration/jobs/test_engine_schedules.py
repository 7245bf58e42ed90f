"""Schedules on the real engine: each tick is enqueued once, by policy, in one transaction with its job."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.engine_fixture import (
    claim_one,
    complete,
    engine_settings,
    enqueue_one,
    opened_engine,
    run_sql,
)

from quire.entrypoints.engine import Engine
from quire.entrypoints.schedules import tick_intake
from quire.entrypoints.shipped import shipped_dir
from quire.jobs import Handler, JobContext
from quire.jobs.application.schedules.enqueue_tick import TickIntake
from quire.jobs.application.schedules.scheduler import Scheduler
from quire.jobs.application.upkeep.sweeper import Sweeper
from quire.jobs.domain.schedules.schedule import MissedPolicy, OverlapPolicy, Schedule, TickOutcome
from quire.jobs.domain.schedules.timing import Cron, Timing
from quire.jobs.infrastructure.postgres.schedule_book import PostgresScheduleBook
from quire.jobs.infrastructure.yaml.located_file import PolicyFileError
from quire.jobs.infrastructure.yaml.schedules import load_schedules
from quire.render import RenderJob
from quire.runtime.telemetry import REGISTRY

START = datetime(2026, 3, 28, 12, tzinfo=UTC)


class TestClock:
    """Every scheduler of a test looks at it."""

    __test__ = False

    def __init__(self, now: datetime = START) -> None:
        self.moment = now

    async def now(self) -> datetime:
        return self.moment

    def go(self, **by: float) -> None:
        self.moment += timedelta(**by)


def hourly(name: str = "hourly", timing: Timing | None = None, **more: object) -> Schedule:
    return Schedule(name, "acme", "jobs.noop", timing or Cron("0 * * * *"), **more)  # type: ignore[arg-type]


async def registered(
    engine: Engine, clock: TestClock, *schedules: Schedule
) -> tuple[PostgresScheduleBook, Scheduler]:
    book = PostgresScheduleBook(engine.database)
    await book.register(schedules, clock.moment)
    return book, Scheduler(book, TickIntake(engine.intake, {}), now=clock.now)


def ticks_counted() -> float:
    return REGISTRY.get_sample_value("quire_schedule_ticks_total", {"outcome": "enqueued"}) or 0.0


async def enqueued(engine: Engine) -> list[tuple[object, ...]]:
    return await run_sql(engine, "SELECT tick_at, outcome, job_id FROM schedule_ticks ORDER BY tick_at")


async def test_each_tick_enqueues_one_job_however_many_schedulers_look(dsn: str, data_dir: Path) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        book, _ = await registered(engine, clock, hourly(), hourly("minutely", Cron("* * * * *")))
        schedulers = [Scheduler(book, TickIntake(engine.intake, {}), now=clock.now) for _ in range(8)]
        for _ in range(6):
            clock.go(minutes=30)
            await asyncio.gather(*(scheduler.act() for scheduler in schedulers))
        ticks = await run_sql(engine, "SELECT schedule, count(*) FROM schedule_ticks GROUP BY 1 ORDER BY 1")
        # `once`: of the thirty minutes between two looks the newest.
        assert ticks == [("hourly", 3), ("minutely", 6)]
        jobs = await run_sql(
            engine, "SELECT count(*), count(DISTINCT external_ref) FROM jobs WHERE state = 'queued'"
        )
        assert jobs == [(9, 9)]
        orphans = (
            "SELECT count(*) FROM schedule_ticks t LEFT JOIN jobs j ON j.id = t.job_id WHERE j.id IS NULL"
        )
        assert await run_sql(engine, orphans) == [(0,)]


async def test_all_missed_ticks_are_made_up_for_through_a_clock_change(dsn: str, data_dir: Path) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        nightly = hourly("nightly", Cron("30 2 * * *", "Europe/Berlin"), missed=MissedPolicy.ALL)
        _, scheduler = await registered(engine, clock, nightly)
        clock.go(days=3)
        await scheduler.act()
        assert [row[0] for row in await enqueued(engine)] == [
            datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
            datetime(2026, 3, 30, 0, 30, tzinfo=UTC),
            datetime(2026, 3, 31, 0, 30, tzinfo=UTC),
        ]


async def test_a_clock_that_jumps_ahead_and_back_repeats_no_tick(dsn: str, data_dir: Path) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        _, scheduler = await registered(engine, clock, hourly(missed=MissedPolicy.ALL))
        for step in (2.5, 5.0, -6.0, 3.0, 4.0):
            clock.go(hours=step)
            await scheduler.act()
        assert [row[0] for row in await enqueued(engine)] == [START + timedelta(hours=n) for n in range(1, 9)]


async def test_a_tick_waits_for_nobody_or_is_left_out_while_the_last_job_runs(
    dsn: str, data_dir: Path
) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        _, scheduler = await registered(engine, clock, hourly(overlap=OverlapPolicy.SKIP))
        for _ in range(2):
            clock.go(hours=1)
            await scheduler.act()
        worker = uuid4()
        await complete(engine, worker, await claim_one(engine, worker))
        clock.go(hours=1)
        await scheduler.act()
        assert [row[1] for row in await enqueued(engine)] == ["enqueued", "overlapped", "enqueued"]


async def test_a_tick_that_is_refused_for_now_is_enqueued_later(dsn: str, data_dir: Path) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        book, scheduler = await registered(engine, clock, hourly(queue="quota"))
        full = [await enqueue_one(engine, queue="quota") for _ in range(10)]
        clock.go(hours=1)
        await scheduler.act()
        assert await enqueued(engine) == []
        assert (await book.list("acme"))[0].last_error_code == "TENANT_QUOTA_EXCEEDED"
        worker = uuid4()
        await complete(engine, worker, await claim_one(engine, worker, "quota"))
        clock.go(minutes=1)
        await scheduler.act()
        assert [(row[0], row[1]) for row in await enqueued(engine)] == [
            (START + timedelta(hours=1), "enqueued")
        ]
        assert len(full) == 10


async def test_more_missed_ticks_than_the_quota_takes_are_made_up_for_by_and_by(
    dsn: str, data_dir: Path
) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        book, scheduler = await registered(engine, clock, hourly(queue="quota", missed=MissedPolicy.ALL))
        clock.go(hours=12)
        counted = ticks_counted()
        await scheduler.act()
        assert [row[0] for row in await enqueued(engine)] == [
            START + timedelta(hours=n) for n in range(1, 11)
        ]
        assert ticks_counted() - counted == 10
        assert (await book.list("acme"))[0].last_error_code == "TENANT_QUOTA_EXCEEDED"
        worker = uuid4()
        for _ in range(2):
            await complete(engine, worker, await claim_one(engine, worker, "quota"))
        clock.go(minutes=1)
        await scheduler.act()
        assert [row[0] for row in await enqueued(engine)] == [
            START + timedelta(hours=n) for n in range(1, 13)
        ]
        (state,) = await book.list("acme")
        assert (state.last_error_code, state.next_at) == (None, START + timedelta(hours=13))


async def test_a_schedule_of_a_disabled_tenant_enqueues_nothing(dsn: str, data_dir: Path) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        book, scheduler = await registered(engine, clock, hourly(missed=MissedPolicy.ALL))
        await run_sql(engine, "INSERT INTO tenants (id, name, disabled_at) VALUES ('acme', 'Acme', now())")
        clock.go(hours=1)
        await scheduler.act()
        (state,) = await book.list("acme")
        assert (state.last_outcome, state.last_error_code) == (TickOutcome.REFUSED, "TENANT_DISABLED")
        await run_sql(engine, "UPDATE tenants SET disabled_at = NULL WHERE id = 'acme'")
        clock.go(hours=1)
        await scheduler.act()
        assert [row[1] for row in await enqueued(engine)] == ["refused", "enqueued"]


async def test_a_payload_that_its_kind_cannot_read_is_refused_instead_of_failing_each_time(
    dsn: str, data_dir: Path
) -> None:
    async def never(payload: object, context: JobContext) -> None:
        raise AssertionError("it is never enqueued")

    clock = TestClock()
    careful = Handler("test.careful", never, decode=lambda payload: payload["name"])
    async with opened_engine(dsn, data_dir, handlers=[careful]) as engine:
        short = Schedule("short", "acme", "test.careful", Cron("0 * * * *"), payload={"nam": "report"})
        book, scheduler = await registered(engine, clock, short)
        clock.go(hours=1)
        await scheduler.act()
        (state,) = await book.list("acme")
        assert (state.last_outcome, state.last_error_code) == (TickOutcome.REFUSED, "PAYLOAD_UNDECODABLE")
        assert await run_sql(engine, "SELECT count(*) FROM jobs") == [(0,)]


async def test_a_tick_that_fails_in_a_way_nobody_thought_of_stops_no_other(dsn: str, data_dir: Path) -> None:
    async def never(payload: object, context: JobContext) -> None:
        raise AssertionError("it is never enqueued")

    clock = TestClock()
    odd = Handler("test.odd_schema", never, schema={"type": "no such type"})
    async with opened_engine(dsn, data_dir, handlers=[odd]) as engine:
        early = Schedule("early", "acme", "test.odd_schema", Cron("1 * * * *"))
        book, scheduler = await registered(engine, clock, early, hourly())
        clock.go(hours=1)
        await scheduler.act()
        assert await run_sql(engine, "SELECT schedule FROM schedule_ticks") == [("hourly",)]
        assert [state.last_error_code for state in await book.list(None)] == ["SCHEDULE_TICK_FAILED", None]


async def test_a_schedule_that_this_release_cannot_read_stops_no_other(dsn: str, data_dir: Path) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        early = hourly("early", Cron("1 * * * *"))
        book, scheduler = await registered(engine, clock, early, hourly())
        newer = (
            "UPDATE schedules SET definition = definition || '{\"missed\": \"newer\"}' WHERE name = 'early'"
        )
        await run_sql(engine, newer)
        clock.go(hours=1)
        for _ in range(2):
            await scheduler.act()
        assert await run_sql(engine, "SELECT schedule FROM schedule_ticks") == [("hourly",)]
        assert [state.schedule.name for state in await book.list(None)] == ["hourly"]


async def test_a_tick_that_is_refused_for_good_is_noted_and_stops_no_other(dsn: str, data_dir: Path) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        unknown = Schedule("another", "acme", "no.kind", Cron("0 * * * *"))
        book, scheduler = await registered(engine, clock, unknown, hourly())
        clock.go(hours=1)
        await scheduler.act()
        refused, fine = await book.list("acme")
        assert (refused.last_outcome, refused.last_error_code) == (TickOutcome.REFUSED, "UNKNOWN_KIND")
        assert (fine.last_outcome, fine.last_job_state) == (TickOutcome.ENQUEUED, "queued")


async def test_a_changed_schedule_starts_over_and_a_removed_one_is_gone(dsn: str, data_dir: Path) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        book, scheduler = await registered(engine, clock, hourly(), hourly("other"))
        clock.go(hours=3)
        await book.register([hourly(timing=Cron("*/10 * * * *"), missed=MissedPolicy.ALL)], clock.moment)
        await scheduler.act()
        assert await enqueued(engine) == []
        assert [state.schedule.name for state in await book.list(None)] == ["hourly"]
        clock.go(minutes=20)
        await book.register([hourly(timing=Cron("*/10 * * * *"), missed=MissedPolicy.ALL)], clock.moment)
        await scheduler.act()
        assert len(await enqueued(engine)) == 2


async def test_workers_with_old_and_new_files_that_start_together_do_not_trip_each_other(
    dsn: str, data_dir: Path
) -> None:
    """As in an upgrade: each process registers what its own file says, and the last one stands."""

    def file(n: int) -> list[Schedule]:
        return [hourly(f"s{i}", Cron(f"{n} * * * *")) for i in range(n % 3, 60)]

    async with opened_engine(dsn, data_dir) as engine:
        book = PostgresScheduleBook(engine.database)
        for _ in range(5):
            await asyncio.gather(*(book.register(file(n), START) for n in range(8)))
        minutes = {state.schedule.timing for state in await book.list(None)}
        assert len(minutes) == 1


async def test_old_ticks_are_forgotten_and_the_newest_of_each_schedule_stays(
    dsn: str, data_dir: Path
) -> None:
    clock = TestClock()
    async with opened_engine(dsn, data_dir) as engine:
        _, scheduler = await registered(engine, clock, hourly())
        for _ in range(3):
            clock.go(hours=1)
            await scheduler.act()
        await run_sql(engine, "UPDATE schedule_ticks SET noted_at = now() - interval '31 days'")
        await Sweeper(
            uuid4(), engine.registry, engine.expiry, engine.artifacts, engine.policies, 3600
        ).sweep()
        assert [row[0] for row in await enqueued(engine)] == [clock.moment]


async def test_one_sweep_forgets_all_old_ticks_however_many(dsn: str, data_dir: Path) -> None:
    async with opened_engine(dsn, data_dir) as engine:
        await run_sql(
            engine,
            "INSERT INTO schedule_ticks (tenant_id, schedule, tick_at, noted_at) "
            "SELECT 'acme', 'often', now() - n * interval '1 s', now() - interval '31 days' "
            "FROM generate_series(1, 25000) n",
        )
        await Sweeper(
            uuid4(), engine.registry, engine.expiry, engine.artifacts, engine.policies, 3600
        ).sweep()
        assert await run_sql(engine, "SELECT count(*) FROM schedule_ticks") == [(1,)]


async def test_a_scheduled_document_is_resolved_when_its_tick_comes(dsn: str, data_dir: Path) -> None:
    clock = TestClock()
    sample = json.loads((shipped_dir("templates") / "receipt" / "1.0" / "sample.json").read_text())
    right = Schedule(
        "right", "acme", "render.pdf", Cron("0 * * * *"), {"template_name": "receipt", "payload": sample}
    )
    wrong = replace(right, name="wrong", payload={"template_name": "receipt", "payload": {}})
    shapeless = replace(right, name="shapeless", payload={"template": "receipt"})
    convert = Schedule("file", "acme", "convert.xml", Cron("0 * * * *"))
    async with opened_engine(dsn, data_dir) as engine:
        settings = engine_settings(dsn, data_dir)
        book = PostgresScheduleBook(engine.database)
        await book.register([convert, right, shapeless, wrong], clock.moment)
        clock.go(hours=1)
        await Scheduler(book, tick_intake(engine, settings), now=clock.now).act()
        told = {s.schedule.name: (s.last_outcome, s.last_error_code) for s in await book.list("acme")}
        assert told == {
            "file": (TickOutcome.REFUSED, "KIND_NOT_SCHEDULABLE"),
            "right": (TickOutcome.ENQUEUED, None),
            "shapeless": (TickOutcome.REFUSED, "VALIDATION_FAILED"),
            "wrong": (TickOutcome.REFUSED, "TEMPLATE_ERROR"),
        }
        ((payload,),) = await run_sql(engine, "SELECT payload FROM jobs")
        assert isinstance(payload, dict)
        assert RenderJob.from_payload(payload).template_name == "receipt"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "version: 1\nschedules:\n  a: {kind: jobs.noop, cron: '61 * * * *'}",
            r"schedules.yaml:3.*Bad minute",
        ),
        ("version: 1\nschedules:\n  a: {kind: jobs.noop}", "give one of cron and every_seconds"),
        ("version: 1\nschedules:\n  a: {kind: jobs.noop, cron: '* * * * *', zone: Nowhere}", "no time zone"),
        ("version: 1\nschedules:\n  a: {kind: jobs.noop, every_secs: 5}", "every_secs"),
        (
            "version: 1\nschedules:\n  a: {kind: jobs.noop, cron: '* * * * *', payload: {day: 2026-01-31}}",
            r"schedules.yaml:3.*payload.*date",
        ),
        (
            'version: 1\nschedules:\n  a: {kind: jobs.noop, every_seconds: 5, payload: {a: "\\0"}}',
            r"schedules.yaml:3.*payload.*NUL",
        ),
        ("version: 1\nschedules:\n  a: {kind: jobs.noop, every_seconds: 5, tenant: A B}", "tenant"),
    ],
)
def test_a_mistake_in_the_file_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "schedules.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(PolicyFileError, match=message):
        load_schedules(tmp_path)

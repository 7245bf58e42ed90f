"""J24: what a caller may ask of the engine, and what no caller can do to the others, with the shipped policies."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.support.engine_fixture import (
    claim,
    enqueue,
    enqueue_one,
    opened_engine,
    run_sql,
    submission,
    until,
    working,
    write_config,
)
from tests.support.jobs_office import ended, open_office, refused, submit

from quire.entrypoints.engine import Engine
from quire.entrypoints.shipped import shipped_dir
from quire.jobs import JobRequest
from quire.jobs.application.metrics import JOB_FAILURES
from quire.jobs.domain.breaker import BreakerState
from quire.runtime.database import Database

SHIPPED = {"QUIRE_CONFIG_DIR": str(shipped_dir("config"))}
LONG_AGO = "1970-01-01T00:00:00Z"
ATTACK = {
    "kind": "jobs.fail",
    "queue": "convert_xml",
    "payload": {"code": "GW_5XX"},
    "run_at": LONG_AGO,
    "unique": False,
}


async def breaker_of(engine: Engine, name: str = "gateway") -> BreakerState:
    return next(status.breaker for status in await engine.gate.status() if status.name == name)


async def test_a_user_cannot_send_failing_jobs_into_the_queue_of_an_integration(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    async with open_office(dsn, database, tmp_path, **SHIPPED) as office:
        beta = await office.caller("eve", tenant="beta")
        body = refused(await beta.post("/jobs", json=ATTACK), 422, "QUEUE_NOT_ALLOWED")
        assert "it runs in: default" in body["detail"]
        assert body["allowed"] == ["default"]
        batch = {"jobs": [{"kind": "jobs.noop"}, ATTACK]}
        refused(await beta.post("/jobs/batch", json=batch), 422, "QUEUE_NOT_ALLOWED")
        assert await database_rows(database, "SELECT count(*) FROM jobs") == 0


async def test_failing_jobs_accepted_before_their_kind_was_bounded_do_not_open_the_breaker(
    dsn: str, tmp_path: Path
) -> None:
    """An older release took them; this one runs them. Each fails on its own account, with its attempt used up."""
    settings = {**SHIPPED, "GATEWAY_URL": "http://127.0.0.1:1"}
    async with opened_engine(dsn, tmp_path, **settings) as engine:
        jobs = [
            submission(kind="jobs.fail", queue="convert_xml", payload_text='{"code": "GW_5XX"}')
            for _ in range(20)
        ]
        await engine.submissions.insert(jobs)

        async def all_failed() -> bool:
            return await run_sql(engine, "SELECT count(*) FROM jobs WHERE state = 'failed'") == [(20,)]

        async with working(dsn, tmp_path, **settings) as worker:
            assert "convert_xml" in worker.card.queues
            await until(all_failed)
        assert await breaker_of(engine) == "closed"
        assert await run_sql(engine, "SELECT count(*) FROM integration_outcomes") == [(0,)]
        assert await run_sql(engine, "SELECT DISTINCT attempt FROM jobs") == [(1,)]


async def test_a_callers_code_moves_no_breaker_even_where_its_kind_belongs(dsn: str, tmp_path: Path) -> None:
    """As with the test policies, which let jobs.fail into the gateway's queue."""
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        fail = JobRequest("jobs.fail", {"code": "GATEWAY_DOWN"}, queue="gateway", unique=False)
        ids = [receipt.job_id for receipt in await enqueue(engine, *[fail] * 10)]

        async def all_failed() -> bool:
            rows = await run_sql(
                engine, "SELECT count(*) FROM jobs WHERE id = ANY ($1) AND state = 'failed'", ids
            )
            return rows == [(10,)]

        await until(all_failed)
        assert await breaker_of(engine) == "closed"


async def test_a_callers_code_becomes_no_metric_label(dsn: str, database: Database, tmp_path: Path) -> None:
    async with open_office(dsn, database, tmp_path) as office:
        await office.start_worker()
        eve = await office.caller("eve")
        for number in range(3):
            payload = {"code": f"INVENTED_{number}"}
            job = await ended(eve, await submit(eve, "jobs.fail", payload=payload))
            assert job["error_code"] == f"INVENTED_{number}"
    labels = {
        (sample.labels["kind"], sample.labels["error_code"])
        for metric in JOB_FAILURES.collect()
        for sample in metric.samples
    }
    assert ("jobs.fail", "CALLERS_CODE") in labels
    assert not {code for kind, code in labels if kind == "jobs.fail"} - {"CALLERS_CODE"}


async def test_a_kind_bounds_the_size_class_that_a_caller_may_ask_for(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    queues = (
        "version: 1\nqueues: {default: {class: large}}\n"
        "kinds: {jobs.noop: {queue: default}, jobs.echo: {queue: default, size_classes: [medium, large]}}\n"
    )
    config = str(write_config(tmp_path, queues=queues))
    async with open_office(dsn, database, tmp_path, QUIRE_CONFIG_DIR=config) as office:
        eve = await office.caller("eve")
        for kind, asked, allowed in (
            ("jobs.noop", "small", ["large"]),
            ("jobs.echo", "small", ["medium", "large"]),
        ):
            answer = await eve.post("/jobs", json={"kind": kind, "size_class": asked})
            assert refused(answer, 422, "SIZE_CLASS_NOT_ALLOWED")["allowed"] == allowed
        job_id = await submit(eve, "jobs.echo", size_class="medium")
        assert (await eve.get(f"/jobs/{job_id}")).json()["size_class"] == "medium"
        assert (await eve.get(f"/jobs/{await submit(eve)}")).json()["size_class"] == "large"


async def test_a_run_at_in_the_past_counts_as_now_by_the_databases_clock(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    async with open_office(dsn, database, tmp_path, **SHIPPED) as office:
        eve = await office.caller("eve")
        first = await submit(eve)
        late = {"kind": "jobs.noop", "run_at": LONG_AGO, "unique": False}
        one = (await eve.post("/jobs", json=late)).json()["job_id"]
        batch = {"jobs": [late, {"kind": "jobs.noop", "unique": False}, late]}
        several = [item["job_id"] for item in (await eve.post("/jobs/batch", json=batch)).json()["results"]]
        waiting = (await eve.post("/jobs", json={**late, "depends_on": [first]})).json()["job_id"]
        early = await database_rows(database, "SELECT count(*) FROM jobs WHERE run_at < created_at")
        lanes = await database_rows(database, "SELECT count(*) FROM job_lanes WHERE run_at < '2000-01-01'")
    assert (early, lanes) == (0, 0)
    async with opened_engine(dsn, tmp_path, **SHIPPED) as engine:
        taken = [str(lease.job_id) for lease in (await claim(engine, submission().id)).leases]
    assert taken == [first, one, *several]
    assert waiting not in taken


async def test_a_time_to_come_is_kept_in_batches_with_times_that_are_past(dsn: str, tmp_path: Path) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    async with opened_engine(dsn, tmp_path, **SHIPPED) as engine:
        jobs = [submission(run_at=soon), submission(run_at=soon - timedelta(days=1)), submission()]
        await engine.submissions.insert(jobs)
        rows = await run_sql(engine, "SELECT id, run_at, run_at = created_at FROM jobs")
    found = {job_id: (run_at, is_now) for job_id, run_at, is_now in rows}
    assert found[jobs[0].id] == (soon, False)
    assert [found[job.id][1] for job in jobs[1:]] == [True, True]


@pytest.mark.parametrize("kind", ["jobs.noop", "jobs.echo", "jobs.sleep", "jobs.store", "jobs.fail"])
async def test_diagnostic_kinds_are_refused_unless_they_are_configured(
    dsn: str, database: Database, tmp_path: Path, kind: str
) -> None:
    payload = {"seconds": 1, "text": "x", "code": "X"}
    async with open_office(dsn, database, tmp_path, **SHIPPED, QUIRE_DIAGNOSTIC_KINDS=False) as office:
        eve = await office.caller("eve")
        for caller in (eve, office.admin):
            body = refused(
                await caller.post("/jobs", json={"kind": kind, "payload": payload}), 422, "UNKNOWN_KIND"
            )
            assert "jobs." not in body["detail"].partition(";")[2]


async def test_a_worker_finishes_diagnostic_jobs_that_were_accepted_before_they_were_switched_off(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path, **SHIPPED) as engine:
        job_id = await enqueue_one(engine)
    async with open_office(dsn, database, tmp_path, **SHIPPED, QUIRE_DIAGNOSTIC_KINDS=False) as office:
        await office.start_worker(**SHIPPED, QUIRE_DIAGNOSTIC_KINDS=False)
        assert (await ended(office.admin, str(job_id)))["state"] == "succeeded"


async def database_rows(database: Database, sql: str) -> int:
    async with database.acquire() as connection:
        return int(await connection.fetchval(sql))

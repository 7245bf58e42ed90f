"""J5: what is tried again, when, and what burns an attempt."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

from tests.support.engine_fixture import (
    EVERYTHING,
    claim,
    claim_one,
    detail_of,
    ended,
    enqueue_one,
    job_of,
    opened_engine,
    problem_of,
    state_is,
    until,
    working,
)

from quire.entrypoints.engine import Engine
from quire.jobs import Handler, JobContext
from quire.jobs.domain.outcome import Failed, HandedBack
from quire.jobs.ports.v1.lease_store import Retry

ANN = uuid4()


async def test_a_transient_failure_is_retried_to_its_last_attempt_and_then_needs_a_person(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        job_id = await enqueue_one(engine, "jobs.fail", {"code": "TRANSIENT"})
        job = (await ended(engine, job_id))[0]
        problem = await problem_of(engine, job_id)
    assert (job.state, job.attempt, job.retry_count, job.crash_count) == ("failed", 3, 2, 0)
    assert (problem.error_code, problem.attempts) == ("TRANSIENT", 3)


async def test_a_retry_that_succeeds_leaves_no_error_behind(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        job_id = await enqueue_one(engine, "jobs.fail", {"code": "TRANSIENT", "until_attempt": 3})
        job = (await ended(engine, job_id))[0]
        detail = await detail_of(engine, job_id)
    assert (job.state, job.attempt, job.retry_count, job.error_code) == ("succeeded", 3, 2, None)
    assert [event.error_code for event in detail.events if event.error_code] == ["TRANSIENT"] * 2


async def test_a_code_that_no_policy_lists_is_terminal_at_once(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        job_id = await enqueue_one(engine, "jobs.fail", {"code": "NEVER_HEARD_OF"})
        job = (await ended(engine, job_id))[0]
    assert (job.state, job.attempt, job.error_code) == ("failed", 1, "NEVER_HEARD_OF")
    assert job.started_at is not None
    assert job.finished_at is not None
    assert job.started_at <= job.finished_at
    assert (job.leased_by, job.lease_expires_at, job.artifact_key) == (None, None, None)


async def test_a_rule_for_one_size_class_says_nothing_about_the_others(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        small = await enqueue_one(engine, "jobs.fail", {"code": "BY_CLASS"})
        large = await enqueue_one(engine, "jobs.fail", {"code": "BY_CLASS"}, queue="large")
        attempts = [job.attempt for job in await ended(engine, small, large)]
    assert attempts == [2, 1]


async def test_a_retry_waits_for_its_delay(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        job_id = await enqueue_one(engine, "jobs.fail", {"code": "SLOW"})
        await until(lambda: _has_error(engine, job_id))
        job = await job_of(engine, job_id)
        assert not (await claim(engine, ANN)).leases
    assert job.state == "queued"
    delay = job.run_at - job.updated_at
    assert delay == timedelta(seconds=600)


async def test_work_handed_back_keeps_its_attempt_and_its_place(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        before = await job_of(engine, job_id)
        lease = await claim_one(engine, ANN)
        assert await engine.leases.hand_back(ANN, [HandedBack(lease, 1, "throttle")]) == {job_id}
        after = await job_of(engine, job_id)
        assert (after.state, after.attempt, after.crash_count, after.retry_count) == ("queued", 0, 0, 0)
        assert after.run_at == before.run_at
        assert (await claim_one(engine, ANN)).attempt == 1


async def test_a_shutdown_burns_no_attempt_whatever_the_handler_makes_of_it(dsn: str, tmp_path: Path) -> None:
    started = asyncio.Event()

    async def stubborn(payload: object, context: JobContext) -> None:
        started.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            raise RuntimeError("cleanup went wrong") from None

    handlers = [Handler("test.stubborn", stubborn)]
    async with opened_engine(dsn, tmp_path, handlers=handlers) as engine:
        async with working(dsn, tmp_path, handlers=handlers):
            job_id = await enqueue_one(engine, "test.stubborn")
            await asyncio.wait_for(started.wait(), 5)
        detail = await detail_of(engine, job_id)
    assert (detail.job.state, detail.job.attempt, detail.job.error_code) == ("queued", 0, None)
    assert detail.events[-1].reason == "shutdown"


async def test_a_handler_that_cancels_itself_fails_instead_of_running_for_ever(
    dsn: str, tmp_path: Path
) -> None:
    async def cancels_itself(payload: object, context: JobContext) -> None:
        raise asyncio.CancelledError

    async def exits(payload: object, context: JobContext) -> None:
        raise SystemExit(3)

    handlers = [Handler("test.cancels", cancels_itself), Handler("test.exits", exits)]
    async with (
        opened_engine(dsn, tmp_path, handlers=handlers) as engine,
        working(dsn, tmp_path, handlers=handlers),
    ):
        ids = [await enqueue_one(engine, kind) for kind in ("test.cancels", "test.exits")]
        jobs = await ended(engine, *ids)
    assert [(job.state, job.error_code, job.attempt) for job in jobs] == [
        ("failed", "HANDLER_CRASHED", 1)
    ] * 2


async def test_a_cancel_asked_for_during_the_attempt_ends_a_job_that_would_be_retried(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        lease = await claim_one(engine, ANN)
        await engine.board.cancel(job_id, EVERYTHING, "ann", force=False)
        await engine.leases.retry(ANN, [Retry(Failed(lease, 1, "TRANSIENT", "x"), 1.0)])
        assert await state_is(engine, job_id, "cancelled")


async def _has_error(engine: Engine, job_id: UUID) -> bool:
    return (await job_of(engine, job_id)).error_code is not None

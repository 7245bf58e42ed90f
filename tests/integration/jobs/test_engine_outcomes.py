"""J21: an outcome that the database cannot hold is a failure of its own job; what ended beside it is written."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.engine_fixture import (
    ended,
    engine_at_work,
    enqueue_one,
    job_of,
    problem_of,
    run_sql,
    write_config,
)

from quire.jobs import FailureAdvice, Handler, JobContext, JobDeferredError, JobError
from quire.jobs.domain.errors import HANDLER_CRASHED, OUTCOME_UNSTORABLE

NUL, HALF = "be\0fore", "half \ud800 a pair"
HUGE = "x" * 5_000_000
NEIGHBOURS = 6
RETRIES = """
version: 1
max_crashes: 3
dead_letter_days: 10
kinds:
  test.odd:
    - {codes: [TRANSIENT], attempts: 3, base_seconds: 0.01, jitter: none}
"""


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def failing(code: object = "TERMINAL", detail: object = "it broke", **advice: object) -> Exception:
    return JobError(detail, code=code, advice=FailureAdvice(**advice))  # type: ignore[arg-type]


async def progress(context: JobContext, percent: object) -> None:
    await context.progress(percent)  # type: ignore[arg-type]


# What a handler does, and the code that its job then fails with.
ODD: dict[str, tuple[Exception, str]] = {
    "code_nul": (failing(NUL), OUTCOME_UNSTORABLE),
    "code_half": (failing(HALF), OUTCOME_UNSTORABLE),
    "code_huge": (failing(HUGE), OUTCOME_UNSTORABLE),
    "code_number": (failing(5), OUTCOME_UNSTORABLE),
    "code_list": (failing(["A"]), OUTCOME_UNSTORABLE),
    "detail_nul": (failing(detail=NUL), "TERMINAL"),
    "detail_half": (failing(detail=HALF), "TERMINAL"),
    "detail_huge": (failing(detail=HUGE), "TERMINAL"),
    "detail_bytes": (failing(detail=b"\x00\xff"), "TERMINAL"),
    "words_nul": (failing(words=NUL), "TERMINAL"),
    "words_half": (failing(words=HALF), "TERMINAL"),
    "words_huge": (failing(words=HUGE), "TERMINAL"),
    "wait_infinite": (failing("TRANSIENT", not_before_seconds=float("inf")), OUTCOME_UNSTORABLE),
    "wait_text": (failing("TRANSIENT", not_before_seconds="soon"), OUTCOME_UNSTORABLE),
    "defer_infinite": (JobDeferredError("later", float("inf")), OUTCOME_UNSTORABLE),
    "defer_nowhere": (JobDeferredError("later", float("nan")), OUTCOME_UNSTORABLE),
    "defer_text": (JobDeferredError("later", "soon"), OUTCOME_UNSTORABLE),  # type: ignore[arg-type]
    "speechless": (SpeechlessError(), HANDLER_CRASHED),
    "said_nul": (ValueError(NUL), HANDLER_CRASHED),
    "said_half": (ValueError(HALF), HANDLER_CRASHED),
}


def odd_handler(error: Exception, together: asyncio.Barrier | None = None) -> Handler:
    async def fail(payload: object, context: JobContext) -> None:
        if together is not None:
            await together.wait()
        raise error

    return Handler("test.odd", fail)


def neighbour_handler(together: asyncio.Barrier) -> Handler:
    async def wait(payload: object, context: JobContext) -> str:
        await together.wait()
        return "done"

    return Handler("test.neighbour", wait)


@pytest.mark.parametrize("name", ODD)
async def test_an_outcome_that_cannot_be_stored_fails_its_own_job_and_no_other(
    dsn: str, tmp_path: Path, name: str
) -> None:
    error, code = ODD[name]
    # They end in one moment, so that their outcomes are written together.
    together = asyncio.Barrier(NEIGHBOURS + 1)
    handlers = [odd_handler(error, together), neighbour_handler(together)]
    config = write_config(tmp_path, retries=RETRIES)
    async with engine_at_work(
        dsn,
        tmp_path,
        handlers=handlers,
        WORKER_CONCURRENCY=NEIGHBOURS + 1,
        WORKER_COMPLETION_TICK_MS=50,
        QUIRE_CONFIG_DIR=config,
    ) as engine:
        odd = await enqueue_one(engine, "test.odd")
        neighbours = [await enqueue_one(engine, "test.neighbour") for _ in range(NEIGHBOURS)]
        jobs = await ended(engine, odd, *neighbours, seconds=30)
        assert (jobs[0].state, jobs[0].error_code) == ("failed", code)
        assert {job.state for job in jobs[1:]} == {"succeeded"}
        problem = await problem_of(engine, odd)
    assert problem.error_code == code
    assert problem.message.isprintable()
    assert problem.message
    assert problem.recommendation.isprintable()
    assert problem.recommendation


async def test_a_reason_to_wait_that_is_no_text_is_stored_as_far_as_it_is_some(
    dsn: str, tmp_path: Path
) -> None:
    async def defer(payload: object, context: JobContext) -> str:
        if context.lease.fence == 1:
            raise JobDeferredError(f"{NUL} {HALF} {HUGE}", 0.01)
        return "done"

    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.defer", defer)]) as engine:
        job_id = await enqueue_one(engine, "test.defer")
        job = (await ended(engine, job_id))[0]
        reasons = await run_sql(engine, "SELECT reason FROM job_events WHERE reason LIKE 'be fore half%'")
    assert (job.state, job.attempt) == ("succeeded", 1)
    assert [len(str(reason)) <= 500 for (reason,) in reasons] == [True]


@pytest.mark.parametrize("percent", [float("nan"), "half", 10**30, None])
async def test_progress_that_is_no_number_never_stops_the_worker(
    dsn: str, tmp_path: Path, percent: object
) -> None:
    async def tell(payload: object, context: JobContext) -> None:
        await progress(context, percent)

    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.tell", tell)]) as engine:
        job_id, other = await enqueue_one(engine, "test.tell"), await enqueue_one(engine)
        jobs = await ended(engine, job_id, other)
    assert (jobs[0].state, jobs[0].error_code) in [("failed", HANDLER_CRASHED), ("succeeded", None)]
    assert jobs[1].state == "succeeded"


@pytest.mark.parametrize("field", ["filename", "content_type"])
@pytest.mark.parametrize("text", [NUL, HALF], ids=["nul", "half"])
async def test_an_artifact_whose_name_is_no_text_fails_its_own_job(
    dsn: str, tmp_path: Path, field: str, text: str
) -> None:
    async def store(payload: object, context: JobContext) -> None:
        await context.put_artifact(b"bytes", **{"filename": "a.txt", field: text})  # type: ignore[arg-type]

    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.store", store)]) as engine:
        job_id, other = await enqueue_one(engine, "test.store"), await enqueue_one(engine)
        jobs = await ended(engine, job_id, other)
        left = await run_sql(engine, "SELECT artifact_key FROM artifacts")
    assert [job.state for job in jobs] == ["failed", "succeeded"]
    assert left == []


async def test_a_broken_constraint_is_found_among_two_hundred_outcomes_and_fails_one_job(
    dsn: str, tmp_path: Path
) -> None:
    together = asyncio.Barrier(200)

    async def answer(payload: object, context: JobContext) -> object:
        await together.wait()
        return payload

    async with engine_at_work(
        dsn,
        tmp_path,
        handlers=[Handler("test.answer", answer)],
        WORKER_CONCURRENCY=200,
        WORKER_COMPLETION_TICK_MS=50,
    ) as engine:
        await run_sql(engine, "ALTER TABLE jobs ADD CHECK (result <> '{\"number\": 77}')")
        ids = [await enqueue_one(engine, "test.answer", {"number": number}) for number in range(200)]
        jobs = await ended(engine, *ids, seconds=30)
    assert {(job.state, job.error_code) for job in jobs[:77] + jobs[78:]} == {("succeeded", None)}
    assert (jobs[77].state, jobs[77].error_code) == ("failed", OUTCOME_UNSTORABLE)


async def test_a_job_whose_failure_cannot_be_written_either_keeps_nobody_waiting(
    dsn: str, tmp_path: Path
) -> None:
    """Its lease runs out then, as that of a worker that died with it."""
    async with engine_at_work(dsn, tmp_path, WORKER_LEASE_TTL_SEC=60) as engine:
        await run_sql(engine, "ALTER TABLE jobs ADD CHECK (kind <> 'jobs.fail' OR state <> 'failed')")
        cursed = await enqueue_one(engine, "jobs.fail", {"code": "TERMINAL"})
        others = [await enqueue_one(engine) for _ in range(20)]
        jobs = await ended(engine, *others)
        assert {job.state for job in jobs} == {"succeeded"}
        assert (await job_of(engine, cursed)).state == "running"

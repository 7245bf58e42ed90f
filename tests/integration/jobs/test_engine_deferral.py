"""A job that no worker can do at the moment waits for a bounded time, and shows what for."""

from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs
from tests.support.engine_fixture import (
    detail_of,
    ended,
    engine_at_work,
    enqueue_one,
    job_of,
    problem_of,
    until,
)

from quire.jobs import Handler, JobContext, JobDeferredError, JobError, watch_transitions

REASON = "waits for the right machine"
REMEDY = "Start the right machine, then retry."


class Machine:
    """Is there, or not."""

    def __init__(self) -> None:
        self.is_there = False
        self.tries = 0

    async def __call__(self, payload: object, context: JobContext) -> object:
        self.tries += 1
        if not self.is_there:
            raise JobDeferredError(REASON, 0.05, end_code="MACHINE_MISSING", remedy=REMEDY)
        return "done"


async def test_a_deferred_job_shows_what_it_waits_for_and_is_done_when_that_comes(
    dsn: str, tmp_path: Path
) -> None:
    machine = Machine()
    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.deferred", machine)]) as engine:
        job_id = await enqueue_one(engine, "test.deferred")

        async def waits() -> bool:
            job = await job_of(engine, job_id)
            return (job.state, job.error_code, job.error_message) == ("queued", "MACHINE_MISSING", REASON)

        await until(waits)
        machine.is_there = True
        job = (await ended(engine, job_id))[0]
        events = (await detail_of(engine, job_id)).events
    assert (job.state, job.attempt, job.error_code, job.error_message) == ("succeeded", 1, None, None)
    assert REASON in [event.reason for event in events]


async def test_a_job_that_was_deferred_for_too_long_becomes_a_problem_that_says_why(
    dsn: str, tmp_path: Path
) -> None:
    machine = Machine()
    with capture_logs() as lines:
        async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.deferred", machine)]) as engine:
            job_id = await enqueue_one(engine, "test.deferred")
            job = (await ended(engine, job_id))[0]
            problem = await problem_of(engine, job_id)
            tries = machine.tries
            machine.is_there = True
            await engine.problems.retry(problem, "olga")
            again = (await ended(engine, job_id))[0]
    assert (job.state, job.error_code) == ("failed", "MACHINE_MISSING")
    assert job.error_message is not None
    assert job.error_message.startswith(REASON)
    assert (problem.error_code, problem.recommendation) == ("MACHINE_MISSING", REMEDY)
    assert 2 < tries <= 25
    assert again.state == "succeeded"
    (line,) = [line for line in lines if line["event"] == "attempt_failed"]
    assert (line["job_id"], line["error_code"]) == (str(job_id), "MACHINE_MISSING")


async def test_each_failed_attempt_leaves_one_line_in_the_log_unless_its_kind_writes_its_own(
    dsn: str, tmp_path: Path
) -> None:
    async def fail(payload: object, context: JobContext) -> object:
        raise JobError("it quotes the document", code="BROKEN")

    told: list[object] = []
    watch_transitions("test.teller", told.append, logs=True)
    handlers = [Handler("test.silent", fail), Handler("test.teller", fail)]
    with capture_logs() as lines:
        async with engine_at_work(dsn, tmp_path, handlers=handlers) as engine:
            retried = await enqueue_one(engine, "jobs.fail", {"code": "TRANSIENT"})
            silent = await enqueue_one(engine, "test.silent")
            await ended(engine, retried, silent, await enqueue_one(engine, "test.teller"))
    found = [line for line in lines if line["event"] == "attempt_failed"]
    of_retried = [line for line in found if line["job_id"] == str(retried)]
    assert [(line["attempt"], line["status"]) for line in of_retried] == [
        (1, "queued"),
        (2, "queued"),
        (3, "failed"),
    ]
    (line,) = [line for line in found if line not in of_retried]
    assert (line["job_id"], line["kind"], line["error_code"]) == (str(silent), "test.silent", "BROKEN")
    assert line["duration_ms"] >= 0
    assert "quotes" not in str(line)
    assert told

"""J13: every dead letter has a problem, and a person decides what becomes of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.engine_fixture import (
    EVERYTHING,
    bury,
    claim,
    claim_one,
    complete,
    detail_of,
    ended,
    engine_at_work,
    enqueue,
    enqueue_one,
    job_of,
    opened_engine,
    problem_of,
    run_sql,
)

from quire.jobs import JobRequest
from quire.jobs.application.upkeep.sweeper import Sweeper
from quire.jobs.domain.errors import (
    JobStateConflictError,
    NewerJobExistsError,
    OutcomeUnstorableError,
    TenantQuotaError,
)
from quire.jobs.domain.problem import ProblemFilter
from quire.jobs.ports.v1.job_board import Sight
from quire.runtime.telemetry import start_span

ANN = uuid4()


async def test_a_problem_records_all_that_a_person_needs_to_decide(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        request = JobRequest(
            "jobs.fail",
            {"code": "TRANSIENT", "message": "the far side is down"},
            document_id="doc-7",
            external_ref="case 12",
        )
        with start_span("test") as span:
            job_id = (await enqueue(engine, request))[0].job_id
        job = (await ended(engine, job_id))[0]
        problem = await problem_of(engine, job_id)
    assert (problem.job_id, problem.tenant_id, problem.document_id) == (job_id, "acme", "doc-7")
    assert (problem.task_type, problem.queue, problem.external_ref) == ("jobs.fail", "default", "case 12")
    assert (problem.error_code, problem.message) == ("TRANSIENT", "the far side is down")
    assert (problem.attempts, problem.last_attempt_at) == (3, job.finished_at)
    assert problem.trace_id == span.trace_id
    assert "retries failed" in problem.recommendation
    assert (problem.user_decision, problem.decided_by, problem.decided_at) == (None, None, None)


async def test_a_dead_letter_restarts_only_while_the_queued_quota_has_room(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        dead = [await enqueue_one(engine, queue="quota") for _ in range(2)]
        for lease in (await claim(engine, ANN, "quota")).leases:
            await bury(engine, ANN, lease)
        for _ in range(9):
            await enqueue_one(engine, queue="quota")
        first, second = [await problem_of(engine, job_id) for job_id in dead]
        await engine.problems.retry(first, "ann")
        with pytest.raises(TenantQuotaError):
            await engine.problems.retry(second, "ann")
        assert (await job_of(engine, dead[1])).state == "failed"
        await complete(engine, ANN, await claim_one(engine, ANN, "quota"))
        await engine.problems.retry(second, "ann")
        assert (await job_of(engine, dead[1])).state == "queued"


async def test_a_dead_letter_is_kept_ten_days_and_then_its_problem_closes_itself(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await bury(engine, ANN, await claim_one(engine, ANN))
        problem = await problem_of(engine, job_id)
        job = await job_of(engine, job_id)
        assert job.finished_at is not None
        assert job.expires_at == job.finished_at + timedelta(days=10)
        await run_sql(engine, "UPDATE jobs SET expires_at = now() + interval '1 minute'")
        assert await engine.expiry.due(10) == []
        await run_sql(engine, "UPDATE jobs SET expires_at = now() - interval '1 s'")
        sweeper = Sweeper(ANN, engine.registry, engine.expiry, engine.artifacts, engine.policies, 3600)
        await sweeper.sweep_if_due()
        assert (await job_of(engine, job_id)).state == "expired"
        closed = await engine.problems.get(problem.id, EVERYTHING)
    assert closed is not None
    assert (closed.user_decision, closed.decided_by) == ("expired", "sweeper")


async def test_an_approved_retry_starts_the_counters_anew_and_the_fence_goes_on(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await bury(engine, ANN, await claim_one(engine, ANN))
        problem = await problem_of(engine, job_id)
        await engine.problems.retry(problem, "olga")
        job = await job_of(engine, job_id)
        assert (job.state, job.attempt, job.crash_count, job.error_code) == ("queued", 0, 0, None)
        assert (job.finished_at, job.expires_at) == (None, None)
        lease = await claim_one(engine, ANN)
        assert (lease.attempt, lease.fence) == (1, 2)
        await complete(engine, ANN, lease)
        decided = await engine.problems.get(problem.id, EVERYTHING)
        assert decided is not None
        assert (decided.user_decision, decided.decided_by) == ("retry", "olga")
        restarted = (await detail_of(engine, job_id)).events[3]
        assert (restarted.actor, restarted.reason) == ("olga", "restarted")


async def test_a_job_that_dies_again_gets_a_new_problem(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        for _ in range(2):
            await bury(engine, ANN, await claim_one(engine, ANN))
            await engine.problems.retry(await problem_of(engine, job_id), "olga")
        await bury(engine, ANN, await claim_one(engine, ANN))
        history = await engine.problems.list_problems(ProblemFilter(None, open_only=False))
        open_ones = await engine.problems.list_problems(ProblemFilter(None))
    assert [problem.user_decision for problem in history] == [None, "retry", "retry"]
    assert [problem.job_id for problem in open_ones] == [job_id]


async def test_a_discarded_job_is_given_up_for_good(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await bury(engine, ANN, await claim_one(engine, ANN))
        problem = await problem_of(engine, job_id)
        await engine.problems.discard(problem, "olga")
        assert (await job_of(engine, job_id)).state == "expired"
        assert not (await claim(engine, ANN)).leases
        with pytest.raises(JobStateConflictError):
            await engine.problems.retry(problem, "olga")


async def test_of_many_decisions_at_once_one_counts_and_the_others_learn_that(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await bury(engine, ANN, await claim_one(engine, ANN))
        problem = await problem_of(engine, job_id)
        decisions = [engine.problems.retry(problem, f"op{n}") for n in range(5)]
        decisions += [engine.problems.discard(problem, f"op{n}") for n in range(5)]
        answers = await asyncio.gather(*decisions, return_exceptions=True)
        refused = [answer for answer in answers if answer is not None]
        moves = await run_sql(engine, "SELECT 1 FROM job_events WHERE from_state = 'failed'")
    assert len(refused) == 9
    assert {getattr(error, "code", error) for error in refused} == {"PROBLEM_ALREADY_DECIDED"}
    assert len(moves) == 1


async def test_many_problems_are_decided_one_by_one_and_all_run_again(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        ids = [await enqueue_one(engine) for _ in range(10)]
        for _ in ids:
            await bury(engine, ANN, await claim_one(engine, ANN))
        problems = await engine.problems.list_problems(
            ProblemFilter("acme", error_code="TERMINAL", limit=100)
        )
        assert {problem.job_id for problem in problems} == set(ids)
        await asyncio.gather(*(engine.problems.retry(problem, "olga") for problem in problems))
        assert len((await claim(engine, ANN)).leases) == 10


async def test_a_restart_that_would_collide_with_a_newer_job_names_it_and_changes_nothing(
    dsn: str, tmp_path: Path
) -> None:
    request = JobRequest("jobs.noop", {"same": 1})
    async with opened_engine(dsn, tmp_path) as engine:
        old = (await enqueue(engine, request))[0].job_id
        await bury(engine, ANN, await claim_one(engine, ANN))
        problem = await problem_of(engine, old)
        newer = (await enqueue(engine, request))[0].job_id
        with pytest.raises(NewerJobExistsError) as refusal:
            await engine.problems.retry(problem, "olga")
        assert refusal.value.extra == {"job_id": str(newer)}
        assert (await job_of(engine, old)).state == "failed"
        assert await engine.problems.open_of_job(old) == problem.id
        await complete(engine, ANN, await claim_one(engine, ANN))
        with pytest.raises(NewerJobExistsError):
            await engine.problems.retry(problem, "olga")


async def test_problems_of_another_tenant_or_principal_are_out_of_sight(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine, tenant="acme", by="ann")
        await bury(engine, ANN, await claim_one(engine, ANN))
        problem = await problem_of(engine, job_id)
        assert await engine.problems.get(problem.id, Sight("acme", "ann")) is not None
        assert await engine.problems.get(problem.id, Sight("acme", "bob")) is None
        assert await engine.problems.get(problem.id, Sight("other")) is None
        assert await engine.problems.list_problems(ProblemFilter("other")) == []


async def test_a_dead_letter_and_its_problem_are_written_together_or_not_at_all(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        lease = await claim_one(engine, ANN)
        await run_sql(engine, "ALTER TABLE problems ADD CONSTRAINT no_room CHECK (false)")
        with pytest.raises(OutcomeUnstorableError, match="CheckViolation"):
            await bury(engine, ANN, lease)
        assert (await job_of(engine, job_id)).state == "running"
        await run_sql(engine, "ALTER TABLE problems DROP CONSTRAINT no_room")
        assert await bury(engine, ANN, lease) == {job_id}

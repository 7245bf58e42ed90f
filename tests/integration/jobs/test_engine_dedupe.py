"""J6: the same work asked for twice is one job, as long as its answer is worth anything."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.support.engine_fixture import (
    EVERYTHING,
    bury,
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
    submission,
)

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest, Receipt
from quire.jobs.infrastructure.postgres.submission_store import PostgresSubmissionStore
from quire.jobs.ports.v1.job_board import Sight

ANN = uuid4()
SAME = JobRequest("jobs.noop", {"same": True})


async def ask(
    engine: Engine, request: JobRequest = SAME, *, by: str = "ann", tenant: str = "acme"
) -> Receipt:
    return (await enqueue(engine, request, by=by, tenant=tenant))[0]


async def test_fifty_identical_requests_at_once_make_one_job(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        receipts = await asyncio.gather(*(ask(engine, by=f"user{n}") for n in range(50)))
        assert await run_sql(engine, "SELECT count(*) FROM jobs") == [(1,)]
        job_id = receipts[0].job_id
        for n in range(50):
            assert await engine.board.get(job_id, Sight("acme", f"user{n}")) is not None
    assert Counter(receipt.outcome for receipt in receipts) == {"created": 1, "existing": 49}
    assert {receipt.job_id for receipt in receipts} == {job_id}


async def test_fifty_identical_requests_over_five_pools_make_one_job(dsn: str, tmp_path: Path) -> None:
    async with (
        opened_engine(dsn, tmp_path) as one,
        opened_engine(dsn, tmp_path) as two,
        opened_engine(dsn, tmp_path) as three,
        opened_engine(dsn, tmp_path) as four,
        opened_engine(dsn, tmp_path) as five,
    ):
        engines = [one, two, three, four, five] * 10
        receipts = await asyncio.gather(*(ask(engine) for engine in engines))
        assert await run_sql(one, "SELECT count(*) FROM jobs") == [(1,)]
    assert Counter(receipt.outcome for receipt in receipts) == {"created": 1, "existing": 49}


async def test_identical_requests_from_three_processes_make_one_job(dsn: str, tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from tests.integration.jobs.test_engine_dedupe import report_outcomes\n"
        "asyncio.run(report_outcomes(sys.argv[1], Path(sys.argv[2])))"
    )
    root = Path(__file__).parents[3]
    children = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            program,
            dsn,
            str(tmp_path / str(n)),
            cwd=root,
            stdout=asyncio.subprocess.PIPE,
        )
        for n in range(3)
    ]
    outputs = await asyncio.wait_for(asyncio.gather(*(child.communicate() for child in children)), 60)
    told = [tuple(line) for output, _ in outputs for line in json.loads(output)]
    assert len(told) == 60
    assert Counter(outcome for outcome, _ in told) == {"created": 1, "existing": 59}
    assert len({job_id for _, job_id in told}) == 1


async def report_outcomes(dsn: str, directory: Path) -> None:
    """One of several processes: the same request twenty times, its answers on stdout."""
    async with opened_engine(dsn, directory) as engine:
        receipts = await asyncio.gather(*(ask(engine) for _ in range(20)))
    print(json.dumps([[receipt.outcome, str(receipt.job_id)] for receipt in receipts]))


async def test_the_store_keeps_one_of_racing_submissions_without_the_merging_too(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        store = PostgresSubmissionStore(engine.database)
        rivals = [submission(job_key=b"k" * 32) for _ in range(20)]
        stored = await asyncio.gather(*(store.insert([rival]) for rival in rivals))
        assert sum(len(ids) for ids in stored) == 1


async def test_the_key_is_of_tenant_kind_payload_and_parameters_not_of_their_spelling(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        first = await ask(engine, JobRequest("jobs.echo", {"a": 1, "b": [1.0, "ü"]}))
        respelled = await ask(engine, JobRequest("jobs.echo", {"b": [1, "\u00fc"], "a": 1}))
        assert (respelled.outcome, respelled.job_id) == ("existing", first.job_id)
        others = [
            await ask(engine, JobRequest("jobs.echo", {"a": 1, "b": [1, "ü"]}), tenant="other"),
            await ask(engine, JobRequest("jobs.noop", {"a": 1, "b": [1, "ü"]})),
            await ask(engine, JobRequest("jobs.echo", {"a": 2, "b": [1, "ü"]})),
            await ask(engine, JobRequest("jobs.echo", {"a": 1, "b": [1, "ü"]}, parameters={"v": 2})),
        ]
    assert [receipt.outcome for receipt in others] == ["created"] * 4


async def test_work_that_is_not_unique_is_done_as_often_as_asked(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        ids = {await enqueue_one(engine, unique=False) for _ in range(3)}
    assert len(ids) == 3


async def test_a_queued_waiting_or_running_job_answers_for_its_key(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        child = await enqueue_one(engine)
        waiting = await ask(engine, JobRequest("jobs.echo", {"w": 1}, depends_on=(child,)))
        again = await ask(engine, JobRequest("jobs.echo", {"w": 1}))
        assert (again.job_id, again.outcome, again.state) == (waiting.job_id, "existing", "waiting")
        await claim_one(engine, ANN)
        first = await ask(engine)
        await claim_one(engine, ANN)
        running = await ask(engine)
    assert (running.job_id, running.outcome, running.state) == (first.job_id, "existing", "running")


async def test_a_success_answers_until_its_artifact_is_gone_and_then_the_work_is_redone(
    dsn: str, tmp_path: Path
) -> None:
    request = JobRequest("jobs.store", {"text": "kept"})
    async with engine_at_work(dsn, tmp_path) as engine:
        first = await ask(engine, request)
        job = (await ended(engine, first.job_id))[0]
        assert job.artifact_key is not None
        again = await ask(engine, request)
        assert (again.job_id, again.outcome, again.state) == (first.job_id, "existing", "succeeded")
        await engine.storage.delete(job.artifact_key)
        redone = await ask(engine, request)
        assert redone.outcome == "created"
        old = await detail_of(engine, first.job_id)
        assert (old.job.state, old.events[-1].reason) == ("expired", "artifact_gone")
        assert await run_sql(engine, "SELECT 1 FROM artifacts WHERE job_id = $1", first.job_id) == []
        assert (await ended(engine, redone.job_id))[0].state == "succeeded"


async def test_a_success_without_an_artifact_answers_for_its_key(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        first = await ask(engine)
        await ended(engine, first.job_id)
        assert (await ask(engine)).job_id == first.job_id


@pytest.mark.parametrize("end", ["failed", "cancelled", "expired"])
async def test_a_job_that_ended_badly_does_not_stand_in_the_way_of_a_new_one(
    dsn: str, tmp_path: Path, end: str
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        first = await ask(engine)
        if end == "cancelled":
            await engine.board.cancel(first.job_id, EVERYTHING, "ann", force=False)
        else:
            await bury(engine, ANN, await claim_one(engine, ANN))
        if end == "expired":
            await engine.problems.discard(await problem_of(engine, first.job_id), "olga")
        assert (await job_of(engine, first.job_id)).state == end
        second = await ask(engine)
    assert second.outcome == "created"
    assert second.job_id != first.job_id


async def test_who_asked_for_the_same_work_may_read_it_and_cancels_only_for_himself(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = (await ask(engine, by="ann")).job_id
        assert await engine.board.get(job_id, Sight("acme", "bob")) is None
        await ask(engine, by="bob")
        assert await engine.board.get(job_id, Sight("acme", "bob")) is not None
        assert await engine.board.get(job_id, Sight("other", "bob")) is None

        assert await _cancel(engine, job_id, "ann") == "interest_withdrawn"
        assert (await job_of(engine, job_id)).state == "queued"
        assert await _cancel(engine, job_id, "eve") is None
        assert await _cancel(engine, job_id, "bob") == "cancelled"


async def test_a_withdrawn_interest_comes_back_with_a_new_request(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = (await ask(engine, by="ann")).job_id
        await ask(engine, by="bob")
        assert await _cancel(engine, job_id, "ann") == "interest_withdrawn"
        assert (await ask(engine, by="ann")).job_id == job_id
        assert await _cancel(engine, job_id, "bob") == "interest_withdrawn"
        assert (await job_of(engine, job_id)).state == "queued"


async def test_someone_without_an_interest_of_his_own_does_not_cancel_another_ones_job_unforced(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = (await ask(engine, by="ann")).job_id
        assert await engine.board.cancel(job_id, Sight("acme"), "olga", force=False) == "interest_withdrawn"
        assert (await job_of(engine, job_id)).state == "queued"
        assert await engine.board.cancel(job_id, Sight("acme"), "olga", force=True) == "cancelled"


async def test_a_request_that_races_with_a_cancel_never_ends_up_with_a_cancelled_job_of_others(
    dsn: str, tmp_path: Path
) -> None:
    """Either the newcomer's interest was counted and the job lives, or it was cancelled and the newcomer has a new
    one."""
    async with opened_engine(dsn, tmp_path) as engine:
        for n in range(30):
            request = JobRequest("jobs.noop", {"round": n})
            first = await ask(engine, request, by="ann")
            outcome, receipt = await asyncio.gather(
                _cancel(engine, first.job_id, "ann"), ask(engine, request, by="bob")
            )
            job = await job_of(engine, receipt.job_id)
            assert job.state == "queued", (outcome, receipt)
            assert (receipt.job_id == first.job_id) == (outcome == "interest_withdrawn")


async def test_a_request_that_races_with_the_end_of_the_job_gets_a_live_or_finished_one(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        for n in range(20):
            request = JobRequest("jobs.noop", {"round": n})
            await ask(engine, request)
            lease = await claim_one(engine, ANN)
            end = bury(engine, ANN, lease) if n % 2 else complete(engine, ANN, lease)
            _, receipt = await asyncio.gather(end, ask(engine, request))
            if receipt.outcome == "created":
                assert n % 2, "a success answers for its key"
                await complete(engine, ANN, await claim_one(engine, ANN))


async def _cancel(engine: Engine, job_id: UUID, who: str) -> str | None:
    return await engine.board.cancel(job_id, Sight("acme", who), who, force=False)

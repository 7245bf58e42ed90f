"""J18: what has outlived its use goes, by one sweeper at a time, and nothing else goes with it."""

from __future__ import annotations

import asyncio
import shutil
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
    until,
    working,
)

from quire.entrypoints.engine import Engine
from quire.jobs import JobFilter, JobRequest, JobState, enqueue_jobs
from quire.jobs.application.upkeep.sweeper import ROLE, Sweeper
from quire.jobs.domain.errors import DependencyUnusableError, JobStateConflictError
from quire.kernel import QuireError

ANN = uuid4()
STORE = JobRequest("jobs.store", {"text": "kept for a while"})


def sweeper(engine: Engine, every_seconds: float = 3600.0, holder: UUID | None = None) -> Sweeper:
    return Sweeper(
        holder or uuid4(), engine.registry, engine.expiry, engine.artifacts, engine.policies, every_seconds
    )


async def stored(engine: Engine, count: int = 1) -> list[UUID]:
    requests = [JobRequest("jobs.store", {"text": f"text {n}"}) for n in range(count)]
    ids = [receipt.job_id for receipt in await enqueue(engine, *requests)]
    await ended(engine, *ids)
    return ids


async def make_due(engine: Engine, *job_ids: UUID) -> None:
    await run_sql(
        engine, "UPDATE jobs SET expires_at = now() - interval '1 s' WHERE id = ANY ($1::uuid[])", job_ids
    )


async def test_an_expired_job_loses_its_bytes_its_record_and_its_key(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        due, fresh = await stored(engine, 2)
        before = {job_id: (await job_of(engine, job_id)).artifact_key for job_id in (due, fresh)}
        await make_due(engine, due)
        await sweeper(engine).sweep()
        expired, kept = await job_of(engine, due), await job_of(engine, fresh)
        assert (expired.state, expired.artifact_key) == ("expired", None)
        assert not await engine.storage.exists(str(before[due]))
        assert kept.state == "succeeded"
        assert await engine.storage.exists(str(before[fresh]))
        assert await run_sql(engine, "SELECT job_id FROM artifacts") == [(fresh,)]
        again = (await enqueue(engine, JobRequest("jobs.store", {"text": "text 0"})))[0]
        assert again.outcome == "created"


async def test_past_its_time_a_job_is_expired_for_readers_before_any_sweep(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        due, fresh = await stored(engine, 2)
        artifact = (await detail_of(engine, due)).artifact
        assert artifact is not None
        assert artifact.seconds_left is not None
        assert 600_000 < artifact.seconds_left <= 604_800
        await make_due(engine, due)
        job = await job_of(engine, due)
        assert (job.state, job.artifact_key) == ("expired", None)
        outcome = await engine.board.outcome(due, EVERYTHING)
        assert outcome is not None
        for detail in (await detail_of(engine, due), outcome):
            assert (detail.job.state, detail.job.artifact_key, detail.artifact) == ("expired", None, None)
        assert await engine.board.of_sha256(artifact.sha256, "jobs.store", EVERYTHING) is None
        for state, expected in (("succeeded", fresh), ("expired", due)):
            listed = await engine.board.list_jobs(JobFilter(None, states=(JobState(state),)))
            assert [(item.id, item.state) for item in listed] == [(expected, state)]
        assert await run_sql(engine, "SELECT state FROM jobs WHERE id = $1", due) == [("succeeded",)]


async def test_past_its_time_a_job_answers_for_its_key_no_more(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        (old,) = await stored(engine)
        key = str((await job_of(engine, old)).artifact_key)
        await make_due(engine, old)
        same = JobRequest("jobs.store", {"text": "text 0"})
        answers = await asyncio.gather(*(enqueue(engine, same) for _ in range(8)))
        new = {answer[0].job_id for answer in answers}
        assert sum(answer[0].outcome == "created" for answer in answers) == len(new) == 1
        assert old not in new
        events = (await detail_of(engine, old)).events
        assert (events[-1].to_state, events[-1].actor, events[-1].reason) == ("expired", "intake", "ttl")
        await ended(engine, *new)
        await run_sql(engine, "UPDATE artifacts SET created_at = now() - interval '2 minutes'")
        await sweeper(engine).sweep()
        assert not await engine.storage.exists(key)
        assert [row[0] for row in await run_sql(engine, "SELECT job_id FROM artifacts")] == list(new)


async def test_a_done_answer_taken_on_trust_is_not_given_past_its_time(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        (old,) = await stored(engine)
        await make_due(engine, old)
        same = JobRequest("jobs.store", {"text": "text 0"})
        (receipt,) = await enqueue_jobs(
            engine.intake, [same], tenant_id="acme", created_by="ann", often_repeated=True, on_trust=True
        )
        assert (receipt.outcome, receipt.job_id == old) == ("created", False)


async def test_a_dead_letter_past_its_time_is_not_restarted(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await bury(engine, ANN, await claim_one(engine, ANN))
        problem = await problem_of(engine, job_id)
        await make_due(engine, job_id)
        with pytest.raises(JobStateConflictError):
            await engine.problems.retry(problem, "ann")
        assert (await job_of(engine, job_id)).state == "expired"


async def test_nothing_may_wait_for_a_success_past_its_time(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await complete(engine, ANN, await claim_one(engine, ANN))
        await make_due(engine, job_id)
        with pytest.raises(DependencyUnusableError, match="expired"):
            await enqueue_one(engine, depends_on=(job_id,))


async def test_a_worker_sweeps_by_itself(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path, QUIRE_SWEEP_SEC=0.2) as engine:
        job_id = (await stored(engine))[0]
        await make_due(engine, job_id)

        async def expired() -> bool:
            return (await job_of(engine, job_id)).state == "expired"

        await until(expired)


async def test_bytes_that_cannot_be_deleted_do_not_stop_the_sweep_of_others(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        stuck, *others = await stored(engine, 3)
        key = (await job_of(engine, stuck)).artifact_key
        assert key is not None
        (tmp_path / "storage" / "objects" / f"{key}@" / "in the way").mkdir(parents=True)
        await make_due(engine, stuck, *others)
        await sweeper(engine).sweep()
        rows = dict(await run_sql(engine, "SELECT id, state FROM jobs"))  # type: ignore[arg-type]
    assert [rows[job_id] for job_id in (stuck, *others)] == ["succeeded", "expired", "expired"]


async def test_more_bytes_than_a_few_that_cannot_be_deleted_do_not_stop_expiry_for_good(
    dsn: str, tmp_path: Path
) -> None:
    """Someone moved folders to another disk and left links: these never go, and they are always due first."""
    async with engine_at_work(dsn, tmp_path) as engine:
        ids = await stored(engine, 20)
        for job_id in ids[:12]:
            folder = (tmp_path / "storage" / str((await job_of(engine, job_id)).artifact_key)).parent
            folder.symlink_to(folder.rename(tmp_path / f"moved-{job_id}"))
            await make_due(engine, job_id)
        await make_due(engine, *ids[12:])
        await run_sql(
            engine,
            "UPDATE jobs SET expires_at = expires_at - interval '1 hour' WHERE id = ANY ($1::uuid[])",
            ids[:12],
        )
        await sweeper(engine).sweep()
        left = await run_sql(engine, "SELECT count(*) FROM jobs WHERE state <> 'expired'")
        assert left == [(12,)]


async def test_bytes_of_a_dead_attempt_are_found_and_removed_and_those_of_a_live_one_are_not(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await enqueue_one(engine)
        await enqueue_one(engine)
        dead, live = await claim_one(engine, ANN), await claim_one(engine, ANN)
        how = {"filename": "a.txt", "content_type": "text/plain", "folder": "artifacts"}
        artifacts = [await engine.artifacts.write(ANN, lease, b"x", **how) for lease in (dead, live)]
        await bury(engine, ANN, dead)
        await run_sql(engine, "UPDATE artifacts SET created_at = now() - interval '2 minutes'")
        await sweeper(engine).sweep()
        assert [await engine.storage.exists(artifact.key) for artifact in artifacts] == [False, True]
        assert await run_sql(engine, "SELECT artifact_key FROM artifacts") == [(artifacts[1].key,)]


async def test_old_timelines_of_expired_jobs_are_pruned_and_no_others(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        old, young = await enqueue_one(engine), await enqueue_one(engine)
        for _ in range(2):
            await complete(engine, ANN, await claim_one(engine, ANN))
        queued = await enqueue_one(engine)
        await run_sql(engine, "UPDATE job_events SET at = now() - interval '31 days'")
        await make_due(engine, old)
        await sweeper(engine).sweep()
        left = await run_sql(
            engine, "SELECT DISTINCT job_id FROM job_events WHERE at < now() - interval '1 day'"
        )
        assert {row[0] for row in left} == {young, queued}
        assert (await job_of(engine, old)).state == "expired"


async def test_jobs_that_expired_long_ago_are_forgotten_with_all_that_hangs_on_them(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        child = await enqueue_one(engine)
        await enqueue_one(engine, depends_on=(child,))
        await bury(engine, ANN, await claim_one(engine, ANN))
        await run_sql(engine, "UPDATE jobs SET expires_at = now() - interval '1 s'")
        await sweeper(engine).sweep()
        await run_sql(engine, "UPDATE jobs SET expires_at = now() - interval '91 days'")
        recent = await enqueue_one(engine)
        await sweeper(engine).sweep()
        assert await run_sql(engine, "SELECT id FROM jobs") == [(recent,)]
        for table in ("job_dependencies", "problems"):
            assert await run_sql(engine, f"SELECT 1 FROM {table}") == []
        assert await run_sql(engine, "SELECT DISTINCT job_id FROM job_events") == [(recent,)]


async def add_forgotten(engine: Engine, count: int) -> None:
    """Jobs that expired a year ago, each with a line in its timeline."""
    await run_sql(
        engine,
        "WITH old AS (INSERT INTO jobs"
        " (id, state, queue, kind, tenant_id, created_by, priority, payload, expires_at)"
        " SELECT gen_random_uuid(), 'expired', 'default', 'jobs.noop', 'acme', 'ann', 0, '{}',"
        " now() - interval '1 year' FROM generate_series(1, $1) RETURNING id)"
        " INSERT INTO job_events (job_id, at, attempt, fence, to_state, actor)"
        " SELECT id, now() - interval '1 year', 0, 0, 'expired', 'ann' FROM old",
        count,
    )


async def add_strays(engine: Engine, count: int) -> None:
    await run_sql(
        engine,
        "INSERT INTO artifacts (artifact_key, job_id, fence, tenant_id, state, content_type, filename, created_at)"
        " SELECT 'artifacts/stray-' || n, gen_random_uuid(), 1, 'acme', 'pending', 'text/plain', 'a.txt',"
        " now() - interval '1 day' FROM generate_series(1, $1) AS n",
        count,
    )


async def test_pruning_goes_in_bounded_batches(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await add_forgotten(engine, 250)
        assert [await engine.expiry.prune_events(30, 100) for _ in range(4)] == [100, 100, 50, 0]
        assert [await engine.expiry.prune_jobs(90, 100) for _ in range(4)] == [100, 100, 50, 0]


async def test_one_sweep_goes_on_until_nothing_is_due(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await add_forgotten(engine, 12_000)
        await add_strays(engine, 1_200)
        due = {item.chore: item.due for item in await engine.expiry.backlog(90, 60, 20_000)}
        assert due == {"expiry": 0, "strays": 1_200, "pruning": 12_000}
        await sweeper(engine).sweep()
        assert [item.due for item in await engine.expiry.backlog(90, 60, 20_000)] == [0, 0, 0]
        for table in ("jobs", "job_events", "artifacts"):
            assert await run_sql(engine, f"SELECT count(*) FROM {table}") == [(0,)]


async def test_a_sweep_stops_when_its_share_of_the_time_is_used_up(dsn: str, tmp_path: Path) -> None:
    """And has done some of everything by then."""
    async with opened_engine(dsn, tmp_path) as engine:
        await add_forgotten(engine, 3_000)
        await add_strays(engine, 1_200)
        await sweeper(engine, every_seconds=0.001).sweep()
        due = {item.chore: item.due for item in await engine.expiry.backlog(90, 60, 20_000)}
        assert due == {"expiry": 0, "strays": 700, "pruning": 2_000}


async def test_storage_that_refuses_does_not_stop_the_pruning(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await add_forgotten(engine, 1)
        await add_strays(engine, 50)
        shutil.rmtree(tmp_path / "storage")
        with pytest.raises(QuireError):
            await sweeper(engine).sweep()
        assert await run_sql(engine, "SELECT count(*) FROM jobs") == [(0,)]
        assert await run_sql(engine, "SELECT count(*) FROM artifacts") == [(50,)]


async def test_the_backlog_of_the_sweep_is_told_with_its_age(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        (job_id,) = await stored(engine)
        await run_sql(engine, "UPDATE jobs SET expires_at = now() - interval '3 hours' WHERE id = $1", job_id)
        await add_strays(engine, 30)
        found = {item.chore: item for item in await engine.expiry.backlog(90, 60, 20)}
        assert (found["expiry"].due, found["strays"].due, found["pruning"].due) == (1, 20, 0)
        assert 3 * 3600 <= found["expiry"].oldest_seconds < 3 * 3600 + 600


async def test_the_role_of_the_sweeper_has_one_holder(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        holders = [uuid4() for _ in range(8)]
        taken = await asyncio.gather(*(engine.registry.take_role(ROLE, holder, 60) for holder in holders))
        assert sum(taken) == 1
        owner = holders[taken.index(True)]
        rival = next(holder for holder in holders if holder != owner)
        assert await engine.registry.take_role(ROLE, owner, 60)
        assert not await engine.registry.take_role(ROLE, rival, 60)
        await run_sql(engine, "UPDATE role_leases SET expires_at = now() - interval '1 s'")
        assert await engine.registry.take_role(ROLE, rival, 60)
        assert await run_sql(engine, "SELECT term FROM role_leases") == [(2,)]


async def test_eight_sweepers_that_wake_together_sweep_once_an_interval(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        runs: list[object] = []
        for _ in range(3):
            await asyncio.gather(*(sweeper(engine).sweep_if_due() for _ in range(8)))
            runs += await run_sql(engine, "SELECT last_run_at FROM role_leases")
    assert runs[0] == runs[1] == runs[2] != (None,)


async def test_expiry_spares_what_still_runs(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        job_id = await enqueue_one(engine, "jobs.sleep", {"seconds": 0.5})

        async def running() -> bool:
            return (await job_of(engine, job_id)).state == "running"

        await until(running)
        await make_due(engine, job_id)
        await sweeper(engine).sweep()
        assert (await ended(engine, job_id))[0].state == "succeeded"

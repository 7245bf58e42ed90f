"""J18: what has outlived its use goes, by one sweeper at a time, and nothing else goes with it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

from tests.integration.engine_fixture import (
    bury,
    claim_one,
    complete,
    ended,
    engine_at_work,
    enqueue,
    enqueue_one,
    job_of,
    opened_engine,
    run_sql,
    until,
    working,
)

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest
from quire.jobs.application.sweeper import ROLE, Sweeper

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
        path = next(
            path for path in (tmp_path / "storage").rglob("*") if str(stuck) in str(path) and path.is_file()
        )
        assert key is not None
        path.unlink()
        (path / "in the way").mkdir(parents=True)
        await make_due(engine, stuck, *others)
        await sweeper(engine).sweep()
        states = [(await job_of(engine, job_id)).state for job_id in (stuck, *others)]
    assert states == ["succeeded", "expired", "expired"]


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


async def test_pruning_goes_in_bounded_batches(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await run_sql(
            engine,
            "INSERT INTO jobs (id, state, queue, kind, tenant_id, created_by, priority, payload, expires_at)"
            " SELECT gen_random_uuid(), 'expired', 'default', 'jobs.noop', 'acme', 'ann', 0, '{}',"
            " now() - interval '1 year' FROM generate_series(1, 250)",
        )
        assert [await engine.expiry.prune(30, 90, 100) for _ in range(4)] == [100, 100, 50, 0]


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

"""SIGSTOP of a worker past its lease: whoever wakes up owns nothing any more."""

from __future__ import annotations

import signal
from uuid import UUID

import pytest
from tests.support.auditor import Auditor, all_ended, stored_keys
from tests.support.load import enqueue
from tests.support.processes import ODD, WorkerProcess, WorkerYard, holds
from tests.support.records import each_reaches, job_of
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest, JobState

JOBS = 4


@pytest.mark.parametrize("moment", ["while the rival works", "after the rival is done"])
async def test_woken_worker_is_refused_by_the_fence_and_discards_its_bytes(
    moment: str, site: Site, engine: Engine, yard: WorkerYard
) -> None:
    frozen = yard.start(ODD, WORKER_LEASE_TTL_SEC=1)
    frozen_id = await frozen.started()
    requests = [JobRequest("odd.store_slowly", {"number": n, "seconds": 1.5}) for n in range(JOBS)]
    accepted = await enqueue(engine, *requests)
    await holds(engine, frozen_id, JOBS)
    await wrote_bytes(engine, JOBS)
    frozen.send(signal.SIGSTOP)

    rival = yard.start(ODD, WORKER_LEASE_TTL_SEC=1)
    await holds(engine, await rival.started(), JOBS)
    await wrote_bytes(engine, 2 * JOBS)
    if moment == "after the rival is done":
        await all_ended(engine)
    frozen.send(signal.SIGCONT)
    await lost(frozen, accepted)
    await all_ended(engine)
    await only_published_bytes_are_left(engine, JOBS)
    assert frozen.exit_code is None
    assert rival.events("lease_lost") == []
    report = await Auditor(engine, site.storage_dir, accepted).report()
    assert report.states == {"succeeded": JOBS}
    assert report.reclaims == JOBS


async def test_worker_that_lost_its_jobs_while_frozen_runs_the_same_jobs_again_itself(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    """Old and new attempts of one job meet in one process; neither may take the other's place."""
    worker = yard.start(ODD, WORKER_LEASE_TTL_SEC=1, WORKER_CONCURRENCY=20)
    worker_id = await worker.started()
    accepted = await enqueue(engine, *(JobRequest("odd.unwind_slowly", {"number": n}) for n in range(JOBS)))
    await holds(engine, worker_id, JOBS)
    worker.send(signal.SIGSTOP)
    await reclaimed_from_outside(engine, accepted)
    worker.send(signal.SIGCONT)
    await lost(worker, accepted)
    await all_ended(engine)
    report = await Auditor(engine, site.storage_dir, accepted).report()
    assert report.states == {"succeeded": JOBS}
    # One reclaim each: the second attempts, longer than their lease, were renewed to their end.
    assert report.reclaims == JOBS
    assert worker.exit_code is None


async def wrote_bytes(engine: Engine, count: int) -> None:
    async def probe() -> bool:
        return len(await stored_keys(engine)) >= count

    await eventually(probe, f"{count} stored objects")


async def lost(worker: WorkerProcess, job_ids: list[UUID]) -> None:
    async def probe() -> bool:
        return {str(job_id) for job_id in job_ids} <= {
            entry["job_id"] for entry in worker.events("lease_lost")
        }

    await eventually(probe, "lease_lost of every job in the log")


async def only_published_bytes_are_left(engine: Engine, count: int) -> None:
    """Without any sweep: the worker itself cleans up."""

    async def probe() -> bool:
        async with engine.database.acquire() as connection:
            pending = await connection.fetchval("SELECT count(*) FROM artifacts WHERE state = 'pending'")
        return not pending and len(await stored_keys(engine)) == count

    await eventually(probe, "the end of the unpublished bytes")


async def reclaimed_from_outside(engine: Engine, job_ids: list[UUID]) -> None:
    async def probe() -> bool:
        await engine.leases.reclaim(100)
        states = [(await job_of(engine, job_id)).state for job_id in job_ids]
        return all(state is JobState.QUEUED for state in states)

    await eventually(probe, "the reclaim of every job")
    await each_reaches(engine, job_ids, lambda job: job.crash_count == 1, "one crash each")

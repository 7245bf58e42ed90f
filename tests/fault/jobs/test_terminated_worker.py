"""SIGTERM: finish within the grace, hand the rest back at once, leave with exit code 0."""

from __future__ import annotations

import signal
import time
from uuid import UUID

import pytest
from tests.support.auditor import Auditor, all_ended
from tests.support.load import enqueue
from tests.support.processes import ODD, WorkerYard, holds
from tests.support.records import job_of, timeline_of
from tests.support.site import Site

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest, JobState

LONG_LEASE_SECONDS = 60


async def test_running_jobs_finish_within_the_grace_and_no_new_one_is_taken(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    worker = yard.start(WORKER_CONCURRENCY=4, WORKER_SHUTDOWN_GRACE_SEC=20)
    worker_id = await worker.started()
    requests = [JobRequest("jobs.store", {"text": f"job {n}", "seconds": 1.5}) for n in range(8)]
    accepted = await enqueue(engine, *requests)
    held = await holds(engine, worker_id, 4)
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    states = {job_id: (await job_of(engine, job_id)).state for job_id in accepted}
    assert {job_id for job_id, state in states.items() if state is JobState.SUCCEEDED} == set(held)
    assert {state for job_id, state in states.items() if job_id not in held} == {JobState.QUEUED}

    yard.start(WORKER_CONCURRENCY=4)
    await all_ended(engine)
    report = await Auditor(engine, site.storage_dir, accepted).report()
    assert report.states == {"succeeded": len(accepted)}
    assert report.reclaims == report.hand_backs == 0


@pytest.mark.parametrize(
    ("grace_seconds", "signals"), [(0.3, 1), (600, 2)], ids=["short grace", "second signal"]
)
async def test_what_does_not_finish_is_handed_back_at_once_with_its_attempt_restored(
    grace_seconds: float, signals: int, site: Site, engine: Engine, yard: WorkerYard
) -> None:
    long_lease = {"WORKER_LEASE_TTL_SEC": LONG_LEASE_SECONDS, "WORKER_CONCURRENCY": 4}
    leaving = yard.start(ODD, WORKER_SHUTDOWN_GRACE_SEC=grace_seconds, **long_lease)
    staying = yard.start(ODD, WORKER_QUEUES="short", **long_lease)
    leaving_id, _ = await leaving.started(), await staying.started()
    accepted = await enqueue(engine, *(JobRequest("odd.linger", {"number": n}) for n in range(4)))
    await holds(engine, leaving_id, 4)

    asked_at = time.monotonic()
    leaving.send(signal.SIGTERM)
    await leaving.said("worker_stopping")
    if signals == 2:
        assert leaving.exit_code is None
        leaving.send(signal.SIGTERM)
    assert await leaving.ended() == 0
    assert [await handed_back_whole(engine, job_id) for job_id in accepted] == [True] * 4

    yard.start(ODD, **long_lease)
    await all_ended(engine)
    assert time.monotonic() - asked_at < LONG_LEASE_SECONDS / 2
    report = await Auditor(engine, site.storage_dir, accepted).report()
    assert report.states == {"succeeded": 4}
    assert (report.hand_backs, report.reclaims) == (4, 0)


async def handed_back_whole(engine: Engine, job_id: UUID) -> bool:
    job = await job_of(engine, job_id)
    last = (await timeline_of(engine, job_id))[-1]
    return (job.state, job.attempt, job.crash_count, job.leased_by, last.reason) == (
        JobState.QUEUED,
        0,
        0,
        None,
        "shutdown",
    )

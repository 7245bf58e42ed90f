"""kill -9 of workers at random moments under load, and the job that kills whoever runs it."""

from __future__ import annotations

import asyncio
import random

import pytest
from tests.support.auditor import Auditor, all_ended
from tests.support.load import Enqueuer, engine_door, enqueue
from tests.support.processes import ODD, WorkerYard, holds
from tests.support.records import job_of, problem_of
from tests.support.site import Site

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest
from quire.jobs.domain.errors import WORKER_LOST

KILLS = 21
JOBS = 2_000
WORKERS = 3


@pytest.fixture
def max_crashes(request: pytest.FixtureRequest) -> int:
    """So many kills hit some jobs more often than three times; that they then give up has a test of its own."""
    return 3 if "poison" in request.node.name else 100


async def test_every_job_ends_once_while_workers_are_killed_at_random_moments(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    workers = [yard.start(WORKER_CONCURRENCY=8) for _ in range(WORKERS)]
    with Enqueuer(engine_door(site), batch=20, pause_seconds=0.3) as client:
        for kill in range(KILLS):
            victim = workers[kill % WORKERS]
            await holds(engine, await victim.started(), 1)
            # A random moment of its work, not the one just after a claim.
            await asyncio.sleep(random.uniform(0, 0.3))
            victim.kill()
            workers[kill % WORKERS] = yard.start(WORKER_CONCURRENCY=8)
        await client.reaches(JOBS)
    await all_ended(engine)
    report = await Auditor(engine, site.storage_dir, client.accepted).report()
    print(f"{len(client.accepted)} jobs, {KILLS} kills, {report.reclaims} reclaims")
    assert report.states == {"succeeded": len(client.accepted)}, report.errors
    assert len(client.accepted) >= JOBS
    # Each victim held at least one job when it died, or had just finished it.
    assert report.reclaims >= KILLS / 2


async def test_poison_job_is_given_up_after_three_crashes_and_its_neighbours_succeed(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    poison, *neighbours = await enqueue(
        engine,
        JobRequest("odd.die", {}),
        *(JobRequest("jobs.store", {"text": f"neighbour {n}", "seconds": 0.2}) for n in range(6)),
    )
    # Together in one process: they share its first crashes, but not the last.
    options = {"WORKER_LEASE_TTL_SEC": 3, "WORKER_CONCURRENCY": 4}
    worker, replaced = yard.start(ODD, **options), 0

    def replace_the_dead() -> None:
        nonlocal worker, replaced
        if worker.exit_code is not None:
            assert worker.exit_code == -9, worker.output[-2000:]
            worker, replaced = yard.start(ODD, **options), replaced + 1

    await all_ended(engine, watch=replace_the_dead, within_seconds=180)
    report = await Auditor(engine, site.storage_dir, [poison, *neighbours]).report()
    job = await job_of(engine, poison)
    assert (job.state, job.error_code, job.crash_count) == ("failed", WORKER_LOST, 3)
    # The last time it took a process with it that ran nothing else.
    assert replaced == 2
    assert report.states["succeeded"] == len(neighbours)
    assert (await problem_of(engine, poison)).error_code == WORKER_LOST

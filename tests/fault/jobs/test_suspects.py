"""J4: a job that may have killed its workers runs in a process of its own, and nobody waits for it or dies with it."""

from __future__ import annotations

import signal
from uuid import UUID

from tests.support.auditor import Auditor, all_ended
from tests.support.engine_fixture import make_suspect
from tests.support.load import enqueue
from tests.support.processes import ODD, WorkerProcess, WorkerYard, descendants, kill_tree
from tests.support.records import job_of, problem_of
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.jobs import Job, JobRequest
from quire.jobs.domain.errors import WORKER_LOST

START_SECONDS = 120.0
LONG = JobRequest("jobs.sleep", {"seconds": 3600})


async def suspect(engine: Engine, request: JobRequest) -> UUID:
    """Made before any worker lives that could take it."""
    (job_id,) = await enqueue(engine, request)
    await make_suspect(engine, job_id)
    return job_id


async def holder_of(engine: Engine, job_id: UUID) -> UUID:
    async def probe() -> UUID | None:
        return (await job_of(engine, job_id)).leased_by

    found = await eventually(probe, "the suspect's start", within_seconds=START_SECONDS)
    assert found is not None
    return found


async def pid_of(engine: Engine, worker_id: UUID) -> int:
    async with engine.database.acquire() as connection:
        return int(await connection.fetchval("SELECT pid FROM workers WHERE id = $1", worker_id))


async def becomes(engine: Engine, job_id: UUID, *states: str) -> Job:
    async def probe() -> Job | None:
        job = await job_of(engine, job_id)
        return job if job.state in states else None

    job = await eventually(probe, f"{' or '.join(states)}", within_seconds=START_SECONDS)
    assert job is not None
    return job


def is_gone(pid: int, worker: WorkerProcess) -> bool:
    return pid not in descendants(worker.pid)


async def test_a_worker_finishes_all_others_while_a_suspect_runs_beside_it(
    engine: Engine, yard: WorkerYard
) -> None:
    slow = await suspect(engine, LONG)
    worker = yard.start(WORKER_CONCURRENCY=4, WORKER_SHUTDOWN_GRACE_SEC=0.5)
    ours, solo = await worker.started(), await holder_of(engine, slow)
    others = await enqueue(engine, *(JobRequest("jobs.store", {"text": f"other {n}"}) for n in range(50)))

    async def others_ended() -> bool:
        return len(await engine.board.ended_among(others)) == len(others)

    await eventually(others_ended, "the end of all others", within_seconds=30)
    job = await job_of(engine, slow)
    assert (job.state, job.leased_by) == ("running", solo)
    assert solo != ours
    # The worker's end is the other's, too, and no crash of what it runs.
    pid = await pid_of(engine, solo)
    assert pid in descendants(worker.pid)
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    assert is_gone(pid, worker)
    job = await job_of(engine, slow)
    assert (job.state, job.attempt, job.crash_count) == ("queued", 0, 2)


async def test_a_suspect_outlives_the_death_of_the_worker_that_started_its_process(
    engine: Engine, yard: WorkerYard
) -> None:
    short = await suspect(engine, JobRequest("jobs.sleep", {"seconds": 2}))
    worker = yard.start(WORKER_SHUTDOWN_GRACE_SEC=30)
    await holder_of(engine, short)
    worker.kill()
    job = await becomes(engine, short, "succeeded", "failed")
    assert (job.state, job.attempt, job.crash_count) == ("succeeded", 1, 2)


async def test_a_worker_that_stops_lets_the_suspect_finish_within_the_grace(
    engine: Engine, yard: WorkerYard
) -> None:
    short = await suspect(engine, JobRequest("jobs.sleep", {"seconds": 11}))
    worker = yard.start(WORKER_SHUTDOWN_GRACE_SEC=30)
    await holder_of(engine, short)
    worker.send(signal.SIGTERM)
    assert await worker.ended(within_seconds=START_SECONDS) == 0
    job = await job_of(engine, short)
    assert (job.state, job.attempt, job.crash_count) == ("succeeded", 1, 2)


async def test_a_suspect_that_is_not_done_when_its_worker_dies_is_handed_back_without_blame(
    engine: Engine, yard: WorkerYard
) -> None:
    slow = await suspect(engine, LONG)
    worker = yard.start(WORKER_SHUTDOWN_GRACE_SEC=0.2)
    await holder_of(engine, slow)
    worker.kill()
    job = await becomes(engine, slow, "queued", "failed")
    assert (job.state, job.attempt, job.crash_count) == ("queued", 0, 2)


async def test_a_suspect_whose_process_dies_is_given_up_and_its_worker_lives_on(
    engine: Engine, yard: WorkerYard
) -> None:
    poison = await suspect(engine, JobRequest("odd.die", {}))
    worker = yard.start(ODD)
    job = await becomes(engine, poison, "failed")
    assert (job.error_code, job.crash_count) == (WORKER_LOST, 3)
    assert (await problem_of(engine, poison)).error_code == WORKER_LOST
    assert worker.exit_code is None
    (died,) = await worker.said("solo_worker_died")
    assert died["exit_code"] == -signal.SIGKILL
    (other,) = await enqueue(engine, JobRequest("jobs.noop", {}))
    assert (await becomes(engine, other, "succeeded", "failed")).state == "succeeded"


async def test_a_suspect_that_dies_together_with_everybody_is_given_up(
    engine: Engine, yard: WorkerYard
) -> None:
    """A job that takes its whole machine with it looks like this, and must not do so for ever."""
    slow = await suspect(engine, LONG)
    worker = yard.start()
    await holder_of(engine, slow)
    kill_tree(worker.pid)
    yard.start()
    job = await becomes(engine, slow, "failed")
    assert (job.error_code, job.crash_count) == (WORKER_LOST, 3)


async def test_a_poison_job_ends_as_lost_and_twenty_innocents_beside_it_succeed(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    poison, *innocents = await enqueue(
        engine,
        JobRequest("odd.die", {}),
        *(JobRequest("jobs.store", {"text": f"innocent {n}", "seconds": 0.1}) for n in range(20)),
    )
    options = {"WORKER_CONCURRENCY": 4}
    worker, replaced = yard.start(ODD, **options), 0

    def replace_the_dead() -> None:
        nonlocal worker, replaced
        if worker.exit_code is not None:
            assert worker.exit_code == -signal.SIGKILL, worker.output[-2000:]
            worker, replaced = yard.start(ODD, **options), replaced + 1

    await all_ended(engine, watch=replace_the_dead, within_seconds=180)
    report = await Auditor(engine, site.storage_dir, [poison, *innocents]).report()
    job = await job_of(engine, poison)
    assert (job.state, job.error_code, job.crash_count) == ("failed", WORKER_LOST, 3)
    assert (await problem_of(engine, poison)).error_code == WORKER_LOST
    assert report.states == {"succeeded": len(innocents), "failed": 1}, report.errors
    # The third time it killed a process that ran nothing else.
    assert replaced == 2

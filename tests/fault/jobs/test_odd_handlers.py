"""Handlers that block, refuse to die, breed, or leave: the job pays, the worker and its neighbours do not."""

from __future__ import annotations

import signal
from pathlib import Path
from uuid import UUID

import pytest
from tests.support.auditor import Auditor, all_ended
from tests.support.load import enqueue
from tests.support.processes import ODD, WorkerYard, holds, process_group
from tests.support.records import EVERYTHING, each_reaches, job_of, problem_of, timeline_of
from tests.support.site import SHORT_QUEUE, Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest, JobState
from quire.jobs.application.execution.heartbeat import EXIT_STUCK
from quire.jobs.domain.errors import HANDLER_CRASHED, JOB_TIMEOUT, RESULT_INVALID


async def test_blocked_event_loop_costs_the_blocking_job_its_attempt_and_its_neighbours_nothing(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    worker = yard.start(ODD, WORKER_LEASE_TTL_SEC=1)
    worker_id = await worker.started()
    neighbours = await enqueue(engine, *(JobRequest("odd.linger", {"number": n}) for n in range(2)))
    await holds(engine, worker_id, 2)
    blocker = await enqueue(engine, JobRequest("odd.block", {"seconds": 600}, queue=SHORT_QUEUE))

    assert await worker.ended(within_seconds=45) == EXIT_STUCK
    assert len(worker.events("event_loop_blocked")) == 1
    await assert_timed_out(engine, blocker[0])
    for job_id in neighbours:
        job = await job_of(engine, job_id)
        # The heartbeat's thread kept their leases all the while.
        assert (job.state, job.attempt, job.crash_count) == (JobState.QUEUED, 0, 0)
        assert (await timeline_of(engine, job_id))[-1].reason == "shutdown"

    yard.start(ODD)
    await all_ended(engine)
    report = await Auditor(engine, site.storage_dir, [*neighbours, *blocker]).report()
    assert report.states == {"succeeded": 2, "failed": 1}
    assert report.reclaims == 0


@pytest.mark.parametrize(("kind", "abandoned"), [("odd.stubborn", 1), ("odd.hide_in_thread", 0)])
async def test_handler_that_cannot_be_cancelled_loses_its_slot_and_cannot_hold_the_process(
    kind: str, abandoned: int, site: Site, engine: Engine, yard: WorkerYard
) -> None:
    worker = yard.start(ODD, WORKER_CONCURRENCY=1, WORKER_SHUTDOWN_GRACE_SEC=1)
    await worker.started()
    stubborn = await enqueue(engine, JobRequest(kind, {}, queue=SHORT_QUEUE))
    after = await enqueue(engine, JobRequest("jobs.store", {"text": "in the freed slot"}))
    await all_ended(engine)
    await assert_timed_out(engine, stubborn[0])
    assert len(worker.events("handler_abandoned")) == abandoned
    worker.send(signal.SIGTERM)
    assert await worker.ended(within_seconds=15) == 0
    report = await Auditor(engine, site.storage_dir, [*stubborn, *after]).report()
    assert report.states == {"succeeded": 1, "failed": 1}


async def test_child_that_ignores_sigterm_is_killed_with_all_its_descendants_at_the_hard_limit(
    site: Site, engine: Engine, yard: WorkerYard, tmp_path: Path
) -> None:
    worker = yard.start(ODD)
    await worker.started()
    accepted = await enqueue(engine, family(tmp_path / "pid", SHORT_QUEUE))
    group = await family_group(tmp_path / "pid")
    await all_ended(engine)
    await assert_timed_out(engine, accepted[0])
    await died_out(group)
    assert worker.exit_code is None
    await Auditor(engine, site.storage_dir, accepted).report()


async def test_children_and_their_descendants_die_with_a_killed_worker(
    site: Site, engine: Engine, yard: WorkerYard, tmp_path: Path
) -> None:
    worker = yard.start(ODD)
    await worker.started()
    accepted = await enqueue(engine, family(tmp_path / "first", "default"))
    group = await family_group(tmp_path / "first")
    worker.kill()
    await died_out(group)
    await engine.board.cancel(accepted[0], EVERYTHING, "operator", force=True)
    yard.start(ODD)
    await all_ended(engine)
    report = await Auditor(engine, site.storage_dir, accepted).report()
    assert report.states == {"cancelled": 1}


def family(pid_file: Path, queue: str) -> JobRequest:
    return JobRequest("odd.family", {"pid_file": str(pid_file)}, queue=queue)


async def family_group(pid_file: Path) -> int:
    """The process group of a family that is complete: a shell, a subshell or its sleep, and another sleep."""

    async def probe() -> int:
        if not pid_file.exists():
            return 0
        group = int(pid_file.read_text())
        return group if len(process_group(group)) >= 3 else 0

    return await eventually(probe, "a family of processes")


async def died_out(group: int) -> None:
    async def probe() -> bool:
        return not process_group(group)

    await eventually(probe, "the end of the whole family", within_seconds=10)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("odd.leave", HANDLER_CRASHED),
        ("odd.cancel_itself", HANDLER_CRASHED),
        ("odd.answer_unstorable", RESULT_INVALID),
    ],
)
async def test_handler_that_ends_oddly_fails_its_job_and_nothing_else(
    kind: str, code: str, site: Site, engine: Engine, yard: WorkerYard
) -> None:
    worker = yard.start(ODD)
    await worker.started()
    odd, *others = await enqueue(
        engine,
        JobRequest(kind, {}),
        *(JobRequest("jobs.store", {"text": f"other {n}", "seconds": 0.2}) for n in range(8)),
    )
    await all_ended(engine)
    job = await job_of(engine, odd)
    assert (job.state, job.error_code, job.attempt) == (JobState.FAILED, code, 1)
    assert worker.exit_code is None
    report = await Auditor(engine, site.storage_dir, [odd, *others]).report()
    assert report.states == {"succeeded": len(others), "failed": 1}
    assert report.reclaims == report.hand_backs == 0


async def assert_timed_out(engine: Engine, job_id: UUID) -> None:
    await each_reaches(engine, [job_id], lambda job: job.state is JobState.FAILED, "the failure")
    job = await job_of(engine, job_id)
    assert (job.error_code, job.attempt, job.crash_count) == (JOB_TIMEOUT, 1, 0)
    assert (await problem_of(engine, job_id)).error_code == JOB_TIMEOUT

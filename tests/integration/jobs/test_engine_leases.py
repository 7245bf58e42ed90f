"""J3, J4: a lease is kept by beating, lost for good once it is lost, and given back when its holder is gone."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest
from tests.support.engine_fixture import (
    EVERYTHING,
    bury,
    claim,
    claim_one,
    claim_suspect,
    complete,
    detail_of,
    ended,
    engine_at_work,
    engine_settings,
    enqueue,
    enqueue_one,
    expire_lease,
    job_of,
    make_suspect,
    opened_engine,
    problem_of,
    run_sql,
    state_is,
    until,
    working,
)

from quire.entrypoints.engine import Engine, open_engine
from quire.entrypoints.worker import build_worker
from quire.jobs import Handler, JobContext, JobRequest, LeaseLostError
from quire.jobs.domain.lease import Lease
from quire.jobs.domain.outcome import Cancelled, Failed, HandedBack
from quire.jobs.infrastructure.postgres.lease_store import PostgresLeaseRenewer
from quire.jobs.ports.v1.lease_store import Retry

ANN = uuid4()
BOB = uuid4()


async def test_a_heartbeat_keeps_a_job_that_runs_longer_than_its_lease(dsn: str, tmp_path: Path) -> None:
    async with (
        opened_engine(dsn, tmp_path) as engine,
        working(dsn, tmp_path, WORKER_LEASE_TTL_SEC=1),
        working(dsn, tmp_path, WORKER_LEASE_TTL_SEC=1),
    ):
        job_id = await enqueue_one(engine, "jobs.sleep", {"seconds": 2.5})
        job = (await ended(engine, job_id))[0]
    assert (job.state, job.attempt, job.crash_count, job.fence) == ("succeeded", 1, 0, 1)


async def test_a_handler_that_blocks_the_event_loop_does_not_lose_its_lease(dsn: str, tmp_path: Path) -> None:
    async def block(payload: object, context: JobContext) -> None:
        time.sleep(2.2)

    async with opened_engine(dsn, tmp_path) as engine:
        handlers = [Handler("test.block", block)]
        async with working(dsn, tmp_path, handlers=handlers, WORKER_LEASE_TTL_SEC=1):
            engine.handlers.add(handlers[0])
            job_id = await enqueue_one(engine, "test.block")
            job = (await ended(engine, job_id))[0]
            # Looked for again after the fact: nobody else would have had the chance while the loop was blocked.
            lost = await run_sql(engine, "SELECT 1 FROM job_events WHERE reason = 'lease_expired'")
    assert (job.state, job.attempt, lost) == ("succeeded", 1, [])


async def test_the_leases_of_a_blocked_loop_are_renewed_meanwhile(dsn: str, tmp_path: Path) -> None:
    """The expiry of all its jobs moves forward although the worker's event loop stands still: the handler holds it
    until somebody outside has seen each lease renewed twice. The other job has no part in that: its outcome waits for
    the loop, and its lease for the outcome."""
    both_run = asyncio.Barrier(2)
    seen: dict[UUID, set[datetime]] = {}

    async def hold_the_loop(payload: object, context: JobContext) -> None:
        await both_run.wait()
        outside = threading.Thread(target=lambda: asyncio.run(_see_renewals(dsn, seen, times=2)))
        outside.start()
        outside.join()

    async def stand_by(payload: object, context: JobContext) -> None:
        await both_run.wait()

    handlers = [Handler("test.hold", hold_the_loop), Handler("test.stand_by", stand_by)]
    async with engine_at_work(
        dsn,
        tmp_path,
        handlers=handlers,
        WORKER_LEASE_TTL_SEC=1.5,
    ) as engine:
        job_ids = [await enqueue_one(engine, handler.kind) for handler in handlers]
        jobs = await ended(engine, *job_ids, seconds=60)
    assert {(job.state, job.attempt, job.crash_count, job.fence) for job in jobs} == {("succeeded", 1, 0, 1)}
    assert seen.keys() == set(job_ids)
    assert min(len(times) for times in seen.values()) >= 3


async def test_a_heartbeat_renews_a_lease_that_has_run_out_and_that_nobody_took(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        lease = await claim_one(engine, ANN)
        await expire_lease(engine, job_id)
        renewer = PostgresLeaseRenewer(dsn, ANN, 30.0, 5.0)
        reply = await renewer.renew([(lease.job_id, lease.fence)])
        await renewer.close()
        assert (reply.lost, reply.cancel_requested) == (frozenset(), frozenset())
        assert (await engine.leases.reclaim(10)).total == 0


async def test_a_worker_whose_heartbeat_fails_says_so_and_claims_nothing_more(
    dsn: str, tmp_path: Path
) -> None:
    settings = engine_settings(dsn, tmp_path, WORKER_LEASE_TTL_SEC=2, WORKER_RECLAIM_SEC=600)
    async with open_engine(settings, application="test") as engine:
        first = await enqueue_one(engine, "jobs.sleep", {"seconds": 60})
        # Claims and writes reach the database, heartbeats do not.
        deaf = dataclasses.replace(engine, dsn="postgresql://nobody@127.0.0.1:1/none")
        worker = build_worker(deaf, settings)
        task = asyncio.create_task(worker.run())
        await until(lambda: state_is(engine, first, "running"))

        async def gave_up_claiming() -> bool:
            return [live.claiming for live in await engine.registry.live()] == [False]

        await until(gave_up_claiming)
        second = await enqueue_one(engine)
        beats = {live.beat_at for live in await engine.registry.live()}

        async def beaten_on() -> bool:
            beats.update(live.beat_at for live in await engine.registry.live())
            return len(beats) > 4

        await until(beaten_on)
        assert (await job_of(engine, second)).state == "queued"
        worker.stop()
        worker.stop()
        await asyncio.wait_for(task, 20)


async def test_a_lost_lease_stops_the_handler_and_its_result_is_not_wanted(dsn: str, tmp_path: Path) -> None:
    stopped = asyncio.Event()
    started: asyncio.Queue[int] = asyncio.Queue()

    async def wait(payload: object, context: JobContext) -> object:
        await started.put(context.lease.fence)
        if context.lease.fence > 1:
            return "second"
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            stopped.set()
        return "first"

    handlers = [Handler("test.wait", wait)]
    async with engine_at_work(dsn, tmp_path, handlers=handlers, WORKER_LEASE_TTL_SEC=1.5) as engine:
        job_id = await enqueue_one(engine, "test.wait")
        assert await asyncio.wait_for(started.get(), 5) == 1
        await engine.board.pause("default", "olga")
        await _take_lease_away(engine, job_id)
        await asyncio.wait_for(stopped.wait(), 5)
        await engine.board.resume("default")
        job = (await ended(engine, job_id))[0]
    assert (job.state, job.result, job.fence, job.crash_count) == ("succeeded", "second", 2, 1)


async def test_a_worker_that_claims_its_own_lost_job_again_stops_the_first_attempt_and_keeps_the_second(
    dsn: str, tmp_path: Path
) -> None:
    """After an outage longer than a lease, a lone worker gets its own jobs back while their old attempts still run."""
    first_stopped, go_on = asyncio.Event(), asyncio.Event()
    fences: list[int] = []

    async def wait(payload: object, context: JobContext) -> object:
        fences.append(context.lease.fence)
        try:
            await go_on.wait()
        except asyncio.CancelledError:
            first_stopped.set()
            raise
        return context.lease.fence

    handlers = [Handler("test.wait", wait)]
    async with engine_at_work(
        dsn, tmp_path, handlers=handlers, WORKER_LEASE_TTL_SEC=1.5, WORKER_CONCURRENCY=2
    ) as engine:
        job_id = await enqueue_one(engine, "test.wait")
        await until(lambda: _true(len(fences) == 1))
        await _take_lease_away(engine, job_id)
        await until(lambda: _true(len(fences) == 2))
        await asyncio.wait_for(first_stopped.wait(), 5)
        # Two more leases' time: the second attempt's lease is renewed although the first one has ended.
        renewals = await _lease_times(engine, job_id, 6)
        go_on.set()
        job = (await ended(engine, job_id))[0]
    assert len(renewals) == 6
    assert (job.state, job.result, fences, job.crash_count) == ("succeeded", 2, [1, 2], 1)


@pytest.mark.parametrize(
    "write", ["complete", "retry", "hand_back", "bury", "cancel", "progress", "renew", "artifact"]
)
async def test_no_write_with_a_stale_fence_changes_anything(dsn: str, tmp_path: Path, write: str) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        stale = await claim_one(engine, ANN)
        await expire_lease(engine, job_id)
        assert (await engine.leases.reclaim(10)).requeued == 1
        current = await claim_one(engine, ANN)
        assert current.fence > stale.fence
        before = await _whole(engine, job_id)
        await _stale_writes(engine)[write](stale)
        assert await _whole(engine, job_id) == before
        assert await complete(engine, ANN, current) == {job_id}


async def test_another_workers_fence_is_no_key_either(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        lease = await claim_one(engine, ANN)
        assert await complete(engine, BOB, lease) == frozenset()
        assert (await job_of(engine, job_id)).state == "running"


async def test_an_expired_lease_returns_its_job_to_the_queue_once_however_many_look(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await claim_one(engine, ANN)
        await expire_lease(engine, job_id)
        answers = await asyncio.gather(*(engine.leases.reclaim(10) for _ in range(6)))
        detail = await detail_of(engine, job_id)
    assert sum(answer.requeued for answer in answers) == 1
    job = detail.job
    assert (job.state, job.attempt, job.crash_count, job.retry_count) == ("queued", 0, 1, 0)
    assert (job.leased_by, job.lease_expires_at) == (None, None)
    assert [event.reason for event in detail.events].count("lease_expired") == 1


async def test_a_lease_that_still_holds_is_left_alone(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await claim_one(engine, ANN)
        assert (await engine.leases.reclaim(10)).total == 0
        assert (await job_of(engine, job_id)).state == "running"


async def test_the_third_crash_makes_a_poison_job_a_problem(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        for crash in (1, 2):
            await claim_one(engine, ANN)
            await expire_lease(engine, job_id)
            await engine.leases.reclaim(10)
            assert (await job_of(engine, job_id)).crash_count == crash
        assert [lease.job_id for lease in (await claim_suspect(engine, BOB)).leases] == [job_id]
        await expire_lease(engine, job_id)
        await engine.leases.reclaim(10)
        job = await job_of(engine, job_id)
        assert (job.state, job.error_code, job.fence, job.crash_count) == ("failed", "WORKER_LOST", 3, 3)
        assert (await problem_of(engine, job_id)).error_code == "WORKER_LOST"
        assert not (await claim(engine, ANN)).leases
        assert not (await claim_suspect(engine, BOB)).leases


@pytest.mark.parametrize("queue", ["default", "fair", "capped", "narrow", "gateway"])
async def test_suspects_are_claimed_one_by_one_by_those_who_run_nothing_else(
    dsn: str, tmp_path: Path, queue: str
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        suspects = [await enqueue_one(engine, queue=queue) for _ in range(2)]
        await make_suspect(engine, suspects[0])
        innocent = await enqueue_one(engine, queue=queue)
        assert {(await job_of(engine, job_id)).crash_count for job_id in suspects} == {2}
        assert [lease.job_id for lease in (await claim(engine, ANN, queue)).leases] == [innocent]
        for job_id in suspects:
            leases = (await claim_suspect(engine, BOB, queue)).leases
            assert [lease.job_id for lease in leases] == [job_id]
            await complete(engine, BOB, *leases)
        assert not (await claim_suspect(engine, BOB, queue)).leases


async def test_a_paused_queue_keeps_its_suspects(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await make_suspect(engine, await enqueue_one(engine))
        queues = [engine.policies.queues.queue("default")]
        assert await engine.leases.suspects_due(queues)
        await engine.board.pause("default", "olga")
        assert not await engine.leases.suspects_due(queues)
        assert not (await claim_suspect(engine, BOB)).leases


@pytest.mark.parametrize("returned", ["handed_back", "retried"])
async def test_a_suspect_that_comes_back_is_still_one(dsn: str, tmp_path: Path, returned: str) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await make_suspect(engine, job_id)
        (lease,) = (await claim_suspect(engine, BOB)).leases
        if returned == "retried":
            await engine.leases.retry(BOB, [Retry(Failed(lease, 1, "TRANSIENT", "it broke"), 0.0)])
        else:
            await engine.leases.hand_back(BOB, [HandedBack(lease, 1, "shutdown")])
        assert not (await claim(engine, ANN)).leases
        assert len((await claim_suspect(engine, BOB)).leases) == 1


async def test_a_message_cannot_name_a_suspect(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await make_suspect(engine, job_id)
        queues = [engine.policies.queues.queue("default")]
        assert not (await engine.leases.claim_named(ANN, queues, [job_id], 5, 60.0)).leases


async def test_a_suspect_that_an_older_release_lined_up_is_put_into_the_lane_of_suspects(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await make_suspect(engine, job_id)
        await run_sql(engine, "UPDATE job_lanes SET solo = false")
        async with working(dsn, tmp_path):
            job = (await ended(engine, job_id))[0]
        reasons = [event.reason for event in (await detail_of(engine, job_id)).events]
    assert (job.state, job.crash_count) == ("succeeded", 2)
    assert reasons.count("runs_alone") == 1


async def test_a_worker_without_a_process_for_suspects_runs_them_one_after_the_other(
    dsn: str, tmp_path: Path
) -> None:
    running: set[UUID] = set()
    beside: list[int] = []

    async def watch(payload: object, context: JobContext) -> None:
        running.add(context.lease.job_id)
        await asyncio.sleep(0.02)
        if context.lease.crash_count:
            beside.append(len(running))
        running.discard(context.lease.job_id)

    handlers = [Handler("test.watch", watch)]
    async with opened_engine(dsn, tmp_path, handlers=handlers) as engine:
        suspects = [await enqueue_one(engine, "test.watch", {"n": n}) for n in range(4)]
        await make_suspect(engine, suspects[0])
        others = [await enqueue_one(engine, "test.watch", {"n": n}) for n in range(4, 8)]
        async with working(dsn, tmp_path, handlers=handlers, WORKER_CONCURRENCY=4):
            jobs = await ended(engine, *suspects, seconds=20)
            await ended(engine, *others, seconds=20)
    assert {(job.state, job.crash_count, job.attempt) for job in jobs} == {("succeeded", 2, 1)}
    assert beside == [1] * 4


async def test_a_job_whose_cancel_was_asked_for_is_cancelled_when_its_worker_is_lost(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await claim_one(engine, ANN)
        assert await engine.board.cancel(job_id, EVERYTHING, "ann", force=False) == "cancelling"
        await expire_lease(engine, job_id)
        assert (await engine.leases.reclaim(10)).cancelled == 1
        assert (await job_of(engine, job_id)).state == "cancelled"


async def test_reclaiming_goes_in_pages_and_a_locked_job_does_not_hold_it_up(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await enqueue(engine, *[JobRequest("jobs.noop", {}, unique=False)] * 25)
        leases = (await claim(engine, ANN)).leases
        await run_sql(engine, "UPDATE jobs SET lease_expires_at = now() - interval '1 s'")
        async with engine.database.transaction() as connection:
            locked = leases[0].job_id
            await connection.execute("SELECT 1 FROM jobs WHERE id = $1 FOR UPDATE", locked)
            pages = [(await asyncio.wait_for(engine.leases.reclaim(10), 2)).total for _ in range(4)]
        assert pages == [10, 10, 4, 0]
        assert (await engine.leases.reclaim(10)).total == 1


async def test_a_live_worker_gives_back_the_jobs_of_a_dead_one(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await claim(engine, uuid4(), lease_seconds=0.3)
        async with working(dsn, tmp_path):
            job = (await ended(engine, job_id))[0]
    assert (job.state, job.crash_count, job.attempt) == ("succeeded", 1, 1)


async def _see_renewals(dsn: str, seen: dict[UUID, set[datetime]], *, times: int) -> None:
    """From a thread and over a connection of its own, until each running job has had so many renewals."""
    connection = await asyncpg.connect(dsn)
    deadline = time.monotonic() + 40
    try:
        while time.monotonic() < deadline:
            for row in await connection.fetch(
                "SELECT id, lease_expires_at FROM jobs WHERE state = 'running'"
            ):
                seen.setdefault(row["id"], set()).add(row["lease_expires_at"])
            if seen and min(map(len, seen.values())) > times:
                return
            await asyncio.sleep(0.02)
    finally:
        await connection.close()


async def _take_lease_away(engine: Engine, job_id: UUID) -> None:
    """A beat may come between the two statements and save the lease; then it is taken again. The worker may come
    between them too, take it away and give it back to itself; then that was it."""
    before = (await job_of(engine, job_id)).crash_count

    async def taken() -> bool:
        await expire_lease(engine, job_id)
        await engine.leases.reclaim(10)
        return (await job_of(engine, job_id)).crash_count > before

    await until(taken)


async def _lease_times(engine: Engine, job_id: UUID, count: int) -> set[object]:
    seen: set[object] = set()

    async def renewed() -> bool:
        seen.add((await job_of(engine, job_id)).lease_expires_at)
        return len(seen) >= count

    await until(renewed, 8)
    return seen


async def _true(value: bool) -> bool:
    return value


async def _whole(engine: Engine, job_id: UUID) -> object:
    jobs = await run_sql(engine, "SELECT j::text FROM jobs j WHERE id = $1", job_id)
    return jobs, [
        await run_sql(engine, f"SELECT count(*) FROM {t}") for t in ("job_events", "problems", "artifacts")
    ]


def _stale_writes(engine: Engine) -> dict[str, Callable[[Lease], Awaitable[None]]]:
    store = engine.leases

    async def refused(answer: Awaitable[object]) -> None:
        assert not await answer

    async def renew(lease: Lease) -> None:
        renewer = PostgresLeaseRenewer(engine.dsn, ANN, 30.0, 5.0)
        assert (await renewer.renew([(lease.job_id, lease.fence)])).lost == {lease.job_id}
        await renewer.close()

    async def artifact(lease: Lease) -> None:
        with pytest.raises(LeaseLostError):
            await engine.artifacts.write(
                ANN, lease, b"late", filename="a.txt", content_type="text/plain", folder="artifacts"
            )

    return {
        "complete": lambda lease: refused(complete(engine, ANN, lease)),
        "retry": lambda lease: refused(store.retry(ANN, [Retry(Failed(lease, 1, "X", "x"), 0.0)])),
        "hand_back": lambda lease: refused(store.hand_back(ANN, [HandedBack(lease, 1, "shutdown")])),
        "bury": lambda lease: refused(bury(engine, ANN, lease)),
        "cancel": lambda lease: refused(store.cancel(ANN, [Cancelled(lease, 1)])),
        "progress": lambda lease: refused(store.note_progress(ANN, lease, 50)),
        "renew": renew,
        "artifact": artifact,
    }

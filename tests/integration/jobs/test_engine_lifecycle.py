"""J1, J2: what is stored of a job, and who gets it in which order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

from tests.support.engine_fixture import (
    EVERYTHING,
    bury,
    claim,
    claim_one,
    complete,
    detail_of,
    ended,
    enqueue,
    enqueue_one,
    expire_lease,
    job_of,
    opened_engine,
    problem_of,
    run_sql,
    submission,
    working,
    write_config,
)

from quire.jobs import JobRequest, JobState
from quire.jobs.domain.outcome import HandedBack
from quire.jobs.domain.state import may_move
from quire.runtime.telemetry import start_span

ANN = uuid4()
BOB = uuid4()
NEWEST_MOVE = """
SELECT j.state, e.to_state, j.xmin = e.xmin FROM jobs j JOIN job_events e ON e.job_id = j.id
WHERE j.id = $1 ORDER BY e.event_no DESC LIMIT 1"""


async def test_a_succeeded_job_tells_its_whole_life_in_columns_and_timeline(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path) as worker:
        with start_span("test") as span:
            job_id = await enqueue_one(engine, "jobs.store", {"text": "hello"}, unique=True)
        await ended(engine, job_id)
        detail = await detail_of(engine, job_id)
    job = detail.job
    assert (job.state, job.attempt, job.retry_count, job.crash_count, job.fence) == ("succeeded", 1, 0, 0, 1)
    assert (job.kind, job.queue, job.priority) == ("jobs.store", "default", 0)
    assert (job.tenant_id, job.created_by, job.payload) == ("acme", "ann", {"text": "hello"})
    assert job.started_at is not None
    assert job.finished_at is not None
    assert job.expires_at is not None
    assert job.created_at <= job.started_at <= job.finished_at <= job.updated_at
    assert (job.leased_by, job.lease_expires_at, job.error_code, job.error_message) == (None,) * 4
    assert job.job_key is not None
    assert len(job.job_key) == 32
    assert span.trace_id in (job.traceparent or "")
    assert detail.artifact is not None
    assert detail.artifact.key == job.artifact_key
    moves = [(event.from_state, event.to_state) for event in detail.events]
    assert moves == [(None, "queued"), ("queued", "running"), ("running", "succeeded")]
    assert [event.actor for event in detail.events] == ["ann", str(worker.card.id), str(worker.card.id)]
    assert [event.fence for event in detail.events] == [0, 1, 1]
    assert detail.events[-1].duration_ms is not None


async def test_every_move_on_every_timeline_is_in_the_transition_table(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        async with working(dsn, tmp_path):
            fail = {"code": "TRANSIENT", "message": "x"}
            failing = await enqueue_one(engine, "jobs.fail", fail)
            parent = await enqueue_one(engine, depends_on=(failing,))
            fine = await enqueue_one(engine)
            await ended(engine, failing, parent, fine)
        cancelled = await enqueue_one(engine)
        await engine.board.cancel(cancelled, EVERYTHING, "ann", force=True)
        rows = await run_sql(engine, "SELECT from_state, to_state FROM job_events")
    assert len(rows) >= 12
    for source, target in rows:
        assert may_move(JobState(str(source)) if source else None, JobState(str(target))), (source, target)


async def test_every_move_and_its_event_are_of_one_transaction(dsn: str, tmp_path: Path) -> None:
    """The row of a job and that of its newest event were written under the same transaction id."""
    async with opened_engine(dsn, tmp_path) as engine:

        async def moved(job_id: UUID, state: str) -> None:
            rows = await run_sql(engine, NEWEST_MOVE, job_id)
            assert rows == [(state, state, True)]

        job_id = await enqueue_one(engine)
        await moved(job_id, "queued")
        lease = await claim_one(engine, ANN)
        await moved(job_id, "running")
        await engine.leases.hand_back(ANN, [HandedBack(lease, 1, "throttle")])
        await moved(job_id, "queued")
        await claim_one(engine, ANN)
        await expire_lease(engine, job_id)
        await engine.leases.reclaim(10)
        await moved(job_id, "queued")
        await bury(engine, ANN, await claim_one(engine, ANN))
        await moved(job_id, "failed")
        await engine.problems.retry(await problem_of(engine, job_id), "olga")
        await moved(job_id, "queued")
        waiting = await enqueue_one(engine, depends_on=(job_id,))
        await moved(waiting, "waiting")
        await complete(engine, ANN, await claim_one(engine, ANN))
        await moved(job_id, "succeeded")
        await moved(waiting, "queued")
        await engine.board.cancel(waiting, EVERYTHING, "ann", force=True)
        await moved(waiting, "cancelled")
        await run_sql(engine, "UPDATE jobs SET expires_at = now() - interval '1 s' WHERE id = $1", job_id)
        await engine.expiry.expire([job_id], "sweeper")
        await moved(job_id, "expired")


async def test_an_error_message_is_stored_as_one_short_line(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        message = "first\nsecond\tthird\x1b[31m " + "long " * 90
        job_id = await enqueue_one(engine, "jobs.fail", {"code": "BROKEN", "message": message})
        job = (await ended(engine, job_id))[0]
    assert job.error_code == "BROKEN"
    assert job.error_message is not None
    assert job.error_message.startswith("first second third [31m long")
    assert len(job.error_message) <= 500
    assert job.error_message.isprintable()


async def test_a_claim_takes_a_batch_and_leaves_the_rest(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await enqueue(engine, *[JobRequest("jobs.noop", {}, unique=False)] * 5)
        first = (await claim(engine, ANN, limit=3)).leases
        second = (await claim(engine, BOB, limit=3)).leases
    assert (len(first), len(second)) == (3, 2)
    assert not {lease.job_id for lease in first} & {lease.job_id for lease in second}


async def test_smaller_classes_go_strictly_first_however_old_the_larger_ones_are(
    dsn: str, tmp_path: Path
) -> None:
    queues = ("xlarge", "large", "medium", "default")
    async with opened_engine(dsn, tmp_path) as engine:
        by_queue = {name: [await enqueue_one(engine, queue=name) for _ in range(2)] for name in queues}
        taken = [lease.job_id for lease in (await claim(engine, ANN, *queues, limit=5)).leases]
        rest = [lease.job_id for lease in (await claim(engine, ANN, *queues, limit=5)).leases]
    assert taken == [*by_queue["default"], *by_queue["medium"], by_queue["large"][0]]
    assert rest == [by_queue["large"][1], *by_queue["xlarge"]]


async def test_inside_a_class_the_oldest_goes_first_and_the_future_not_yet(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        ages = [30, 50, 10, -60, 40]
        jobs = [submission() for _ in ages]
        await engine.submissions.insert(jobs)
        for job, age in zip(jobs, ages, strict=True):
            for table, key in (("jobs", "id"), ("job_lanes", "job_id")):
                dated = f"UPDATE {table} SET run_at = now() - make_interval(secs => $2) WHERE {key} = $1"
                await run_sql(engine, dated, job.id, float(age))
        taken = [lease.job_id for lease in (await claim(engine, ANN)).leases]
    assert taken == [jobs[index].id for index in (1, 4, 0, 2)]


async def test_queues_of_one_class_do_not_starve_each_other(dsn: str, tmp_path: Path) -> None:
    """The lane with the oldest job goes first, whatever the queue's name."""
    queues = "queues: {default: {}, aaa: {}, zzz: {}}\nkinds: {jobs.noop: {queues: [aaa, zzz]}}"
    config = write_config(tmp_path, queues=f"version: 1\n{queues}\n", throttling="version: 1\n")
    async with opened_engine(dsn, tmp_path, QUIRE_CONFIG_DIR=str(config)) as engine:
        oldest = await enqueue_one(engine, queue="zzz")
        for _ in range(5):
            await enqueue_one(engine, queue="aaa")
        assert (await claim(engine, ANN, "aaa", "zzz", limit=1)).leases[0].job_id == oldest


async def test_a_paused_queue_gives_nothing_until_it_is_resumed(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        for queue in ("default", "fair", "narrow"):
            await enqueue_one(engine, queue=queue)
            await engine.board.pause(queue, "olga")
            assert not (await claim(engine, ANN, queue)).leases
            depth = (await engine.board.queue_depths([queue]))[0]
            assert (depth.queued, depth.paused_by) == (1, "olga")
            await engine.board.resume(queue)
            assert len((await claim(engine, ANN, queue)).leases) == 1


async def test_eight_racing_claimers_take_two_thousand_jobs_each_exactly_once(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path, QUIRE_DATABASE_POOL_MAX=12) as engine:
        receipts = await enqueue(engine, *[JobRequest("jobs.noop", {}, unique=False)] * 2000)

        async def drain(worker_id: UUID) -> list[UUID]:
            mine: list[UUID] = []
            while leases := (await claim(engine, worker_id, limit=17)).leases:
                mine += [lease.job_id for lease in leases]
            return mine

        hands = await asyncio.gather(*(drain(uuid4()) for _ in range(8)))
    taken = [job_id for hand in hands for job_id in hand]
    assert sum(map(bool, hands)) > 1, "only one claimer ever got work: this was no race"
    assert sorted(taken) == sorted(receipt.job_id for receipt in receipts)


async def test_a_queued_row_is_claimed_whatever_its_fence_and_history_say(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        await run_sql(
            engine,
            "UPDATE jobs SET fence = 41, attempt = 7, crash_count = 2, started_at = now() WHERE id = $1",
            job_id,
        )
        lease = await claim_one(engine, ANN)
        assert (lease.fence, lease.attempt) == (42, 8)
        assert await complete(engine, ANN, lease) == {job_id}
        assert (await job_of(engine, job_id)).state == "succeeded"

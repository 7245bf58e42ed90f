"""J12: fan-out, fan-in, chains; a child's failure and its retry; nothing released twice, nothing forgotten."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

import pytest
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
    job_of,
    opened_engine,
    problem_of,
    run_sql,
    submission,
    until,
    working,
)

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest
from quire.jobs.domain.errors import DependencyUnusableError, JobStateConflictError
from quire.jobs.infrastructure.postgres.problem_log import JOBS as JOB_SQL
from quire.jobs.infrastructure.postgres.submission_store import SQL as SUBMISSION_SQL
from quire.kernel import InvalidInputError, new_uuid7
from quire.runtime.database import Connection

ANN = uuid4()


async def test_a_merge_starts_only_after_all_its_pages_succeeded(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        pages = [JobRequest("jobs.echo", {"page": n}, job_id=new_uuid7()) for n in range(5)]
        merge = JobRequest("jobs.noop", {"merge": 1}, depends_on=tuple(p.job_id for p in pages if p.job_id))
        receipts = await enqueue(engine, merge, *pages)
        assert [receipt.state for receipt in receipts] == ["waiting", *["queued"] * 5]
        leases = (await claim(engine, ANN)).leases
        assert {lease.job_id for lease in leases} == {page.job_id for page in pages}
        await complete(engine, ANN, *leases[:4])
        assert (await job_of(engine, receipts[0].job_id)).pending_dependencies == 1
        assert not (await claim(engine, ANN)).leases
        await complete(engine, ANN, leases[4])
        assert (await claim_one(engine, ANN)).job_id == receipts[0].job_id
        detail = await detail_of(engine, receipts[0].job_id)
    assert set(detail.depends_on) == {page.job_id for page in pages}
    assert [event.to_state for event in detail.events] == ["waiting", "queued", "running"]
    assert detail.events[1].reason == "dependencies_done"


async def test_a_job_that_waits_for_what_is_already_done_is_queued_at_once(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        child = await enqueue_one(engine)
        await complete(engine, ANN, await claim_one(engine, ANN))
        parent = await enqueue_one(engine, depends_on=(child,))
        assert (await job_of(engine, parent)).state == "queued"


async def test_a_chain_of_three_runs_in_order(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        first = await enqueue_one(engine)
        second = await enqueue_one(engine, depends_on=(first,))
        third = await enqueue_one(engine, depends_on=(second,))
        jobs = await ended(engine, first, second, third)
    assert [job.state for job in jobs] == ["succeeded"] * 3
    times = [(job.started_at, job.finished_at) for job in jobs]
    assert times[0][1] <= times[1][0] <= times[1][1] <= times[2][0]  # type: ignore[operator]


async def test_a_dead_child_fails_the_whole_chain_above_it_with_problems(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        first, second, third = await _chain(engine)
        await bury(engine, ANN, await claim_one(engine, ANN))
        for job_id in (second, third):
            job = await job_of(engine, job_id)
            assert (job.state, job.error_code) == ("failed", "DEPENDENCY_FAILED")
            assert (await problem_of(engine, job_id)).error_code == "DEPENDENCY_FAILED"
        assert (await problem_of(engine, first)).error_code == "TERMINAL"


async def test_a_retried_child_brings_its_chain_back_and_the_chain_finishes(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        first, second, third = await _chain(engine)
        await bury(engine, ANN, await claim_one(engine, ANN))
        await engine.problems.retry(await problem_of(engine, first), "olga")
        states = [(await job_of(engine, job_id)).state for job_id in (first, second, third)]
        assert states == ["queued", "waiting", "waiting"]
        for job_id in (second, third):
            assert await engine.problems.open_of_job(job_id) is None
        async with working(dsn, tmp_path):
            jobs = await ended(engine, first, second, third)
    assert [job.state for job in jobs] == ["succeeded"] * 3


async def test_a_retried_child_redoes_only_what_is_missing(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        good, bad = await enqueue_one(engine), await enqueue_one(engine)
        parent = await enqueue_one(engine, depends_on=(good, bad))
        await complete(engine, ANN, await claim_one(engine, ANN))
        await bury(engine, ANN, await claim_one(engine, ANN))
        await engine.problems.retry(await problem_of(engine, bad), "olga")
        assert (await job_of(engine, parent)).pending_dependencies == 1
        lease = await claim_one(engine, ANN)
        assert lease.job_id == bad
        await complete(engine, ANN, lease)
        assert (await claim_one(engine, ANN)).job_id == parent


async def test_a_parent_of_two_dead_children_waits_again_only_after_both_are_retried(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        left, right = await enqueue_one(engine), await enqueue_one(engine)
        parent = await enqueue_one(engine, depends_on=(left, right))
        for _ in range(2):
            await bury(engine, ANN, await claim_one(engine, ANN))
        await engine.problems.retry(await problem_of(engine, left), "olga")
        assert (await job_of(engine, parent)).state == "failed"
        with pytest.raises(JobStateConflictError, match="decide on that one first"):
            await engine.problems.retry(await problem_of(engine, parent), "olga")
        await engine.problems.retry(await problem_of(engine, right), "olga")
        assert (await job_of(engine, parent)).state == "waiting"


async def test_a_discarded_child_does_not_count_as_done(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        child = await enqueue_one(engine)
        parent = await enqueue_one(engine, depends_on=(child,))
        await bury(engine, ANN, await claim_one(engine, ANN))
        await engine.problems.discard(await problem_of(engine, child), "olga")
        with pytest.raises(JobStateConflictError):
            await engine.problems.retry(await problem_of(engine, parent), "olga")
        assert (await job_of(engine, parent)).state == "failed"


async def test_a_child_that_succeeded_and_expired_still_counts_as_done(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        child = await enqueue_one(engine)
        parent = await enqueue_one(engine, depends_on=(child,))
        await complete(engine, ANN, await claim_one(engine, ANN))
        await bury(engine, ANN, await claim_one(engine, ANN))
        await run_sql(engine, "UPDATE jobs SET expires_at = now() - interval '1 s' WHERE id = $1", child)
        assert len(await engine.expiry.expire([child], "sweeper")) == 1
        await engine.problems.retry(await problem_of(engine, parent), "olga")
        assert (await job_of(engine, parent)).state == "queued"


async def test_a_cancelled_child_fails_what_waits_for_it(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        child = await enqueue_one(engine)
        parent = await enqueue_one(engine, depends_on=(child,))
        assert await engine.board.cancel(child, EVERYTHING, "ann", force=False) == "cancelled"
        assert (await job_of(engine, parent)).error_code == "DEPENDENCY_FAILED"


async def test_waiting_for_a_missing_dead_or_foreign_job_is_refused_and_stores_nothing(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        dead = await enqueue_one(engine)
        await bury(engine, ANN, await claim_one(engine, ANN))
        foreign = await enqueue_one(engine, tenant="other")
        for unusable in (uuid4(), dead, foreign):
            with pytest.raises(DependencyUnusableError):
                await enqueue_one(engine, tenant="acme", depends_on=(unusable,))
        assert await run_sql(engine, "SELECT count(*) FROM jobs") == [(2,)]


async def test_two_children_finishing_at_once_release_their_parent_exactly_once(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        for _ in range(25):
            children = [await enqueue_one(engine), await enqueue_one(engine)]
            parent = await enqueue_one(engine, depends_on=tuple(children))
            leases = (await claim(engine, ANN, limit=2)).leases
            await asyncio.gather(*(complete(engine, ANN, lease) for lease in leases))
            job = await job_of(engine, parent)
            assert (job.state, job.pending_dependencies) == ("queued", 0)
            releases = await run_sql(
                engine, "SELECT 1 FROM job_events WHERE job_id = $1 AND to_state = 'queued'", parent
            )
            assert len(releases) == 1
            await complete(engine, ANN, await claim_one(engine, ANN))


async def test_a_child_that_finishes_while_its_parent_is_being_stored_still_releases_it(
    dsn: str, tmp_path: Path
) -> None:
    """The completion begins before the parent is committed and waits for the lock on the child; what it read before
    the wait knows no parent."""
    async with opened_engine(dsn, tmp_path) as engine:
        child = await enqueue_one(engine)
        lease = await claim_one(engine, ANN)
        parent = submission(depends_on=(child,))
        async with engine.database.transaction() as connection:
            await connection.fetch(SUBMISSION_SQL["lock_dependencies"], [child])
            completion = asyncio.create_task(complete(engine, ANN, lease))
            await _somebody_waits_for_a_lock(engine)
            await engine.submissions._insert_rows(connection, [parent], {parent.id: 1})
            await engine.submissions._insert_dependencies(connection, [parent], frozenset({parent.id}))
        assert await completion == {child}
        assert (await job_of(engine, parent.id)).state == "queued"


async def test_a_child_that_finishes_while_its_parent_is_being_restarted_still_releases_it(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        slow, dead = await enqueue_one(engine), await enqueue_one(engine)
        parent = await enqueue_one(engine, depends_on=(slow, dead))
        slow_lease = await claim_one(engine, ANN)
        await bury(engine, ANN, await claim_one(engine, ANN))
        problem = await problem_of(engine, dead)
        async with engine.database.transaction() as connection:
            await engine.problems._decide(connection, problem, "retry", "olga")
            assert await engine.problems._restart(connection, dead, "olga")
            await _share_dependencies(connection, parent)
            completion = asyncio.create_task(complete(engine, ANN, slow_lease))
            await _somebody_waits_for_a_lock(engine)
            await engine.problems._release_dependants(connection, dead, "olga")
        assert await completion == {slow}
        await complete(engine, ANN, await claim_one(engine, ANN))
        assert (await job_of(engine, parent)).state == "queued"


async def test_pages_done_in_an_earlier_request_count_for_a_new_merge_in_one_batch(
    dsn: str, tmp_path: Path
) -> None:
    """The pages of the second batch are answered with the first one's jobs; the merge waits for those."""
    async with opened_engine(dsn, tmp_path) as engine:
        await enqueue(engine, JobRequest("jobs.echo", {"page": 1}), JobRequest("jobs.echo", {"page": 2}))
        done = await claim_one(engine, ANN)
        await complete(engine, ANN, done)
        pages = [JobRequest("jobs.echo", {"page": n}, job_id=new_uuid7()) for n in (1, 2, 3)]
        merge = JobRequest("jobs.noop", {"m": 1}, depends_on=tuple(p.job_id for p in pages if p.job_id))
        receipts = await enqueue(engine, *pages, merge)
        assert [receipt.outcome for receipt in receipts] == ["existing", "existing", "created", "created"]
        detail = await detail_of(engine, receipts[3].job_id)
        assert set(detail.depends_on) == {receipt.job_id for receipt in receipts[:3]}
        assert detail.job.pending_dependencies == 2
        leases = (await claim(engine, ANN)).leases
        await complete(engine, ANN, *leases)
        assert (await claim_one(engine, ANN)).job_id == receipts[3].job_id


async def test_jobs_of_one_batch_may_wait_for_each_other_in_levels(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine, working(dsn, tmp_path):
        ids = [new_uuid7() for _ in range(3)]
        requests = [
            JobRequest("jobs.noop", {"n": 3}, job_id=ids[2], depends_on=(ids[1], ids[0])),
            JobRequest("jobs.noop", {"n": 2}, job_id=ids[1], depends_on=(ids[0],)),
            JobRequest("jobs.noop", {"n": 1}, job_id=ids[0]),
        ]
        await enqueue(engine, *requests)
        assert {job.state for job in await ended(engine, *ids)} == {"succeeded"}


async def test_jobs_that_wait_for_each_other_in_a_circle_are_refused(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        one, two = new_uuid7(), new_uuid7()
        circle = [
            JobRequest("jobs.noop", {"n": 1}, job_id=one, depends_on=(two,)),
            JobRequest("jobs.noop", {"n": 2}, job_id=two, depends_on=(one,)),
        ]
        with pytest.raises((DependencyUnusableError, InvalidInputError)):
            await enqueue(engine, *circle)
        with pytest.raises((DependencyUnusableError, InvalidInputError)):
            await enqueue(engine, JobRequest("jobs.noop", {}, job_id=one, depends_on=(one,)))
        assert await run_sql(engine, "SELECT count(*) FROM jobs") == [(0,)]


async def test_a_retried_child_is_not_held_back_by_a_dependant_that_was_replaced(
    dsn: str, tmp_path: Path
) -> None:
    """The parent's work is done by a newer job of the same key: the old parent stays dead, the child runs."""
    async with opened_engine(dsn, tmp_path) as engine:
        child = await enqueue_one(engine)
        parent = (await enqueue(engine, JobRequest("jobs.noop", {"p": 1}, depends_on=(child,))))[0].job_id
        await bury(engine, ANN, await claim_one(engine, ANN))
        newer = (await enqueue(engine, JobRequest("jobs.noop", {"p": 1})))[0]
        assert newer.outcome == "created"
        await engine.problems.retry(await problem_of(engine, child), "olga")
        states = [(await job_of(engine, job_id)).state for job_id in (child, parent, newer.job_id)]
    assert states == ["queued", "failed", "queued"]


async def _chain(engine: Engine) -> tuple[UUID, UUID, UUID]:
    first = await enqueue_one(engine)
    second = await enqueue_one(engine, depends_on=(first,))
    return first, second, await enqueue_one(engine, depends_on=(second,))


async def _share_dependencies(connection: Connection, job_id: UUID) -> None:
    await connection.fetch(JOB_SQL["unfinished_dependencies"], job_id)


async def _somebody_waits_for_a_lock(engine: Engine) -> None:
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    async def blocked() -> bool:
        return bool(await run_sql(engine, waiting))

    await until(blocked)

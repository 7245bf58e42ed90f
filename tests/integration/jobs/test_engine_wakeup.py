"""J14: work is picked up when it is announced, and also when nobody announces anything."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from tests.support.engine_fixture import (
    ended,
    engine_at_work,
    engine_settings,
    enqueue_one,
    opened_engine,
    run_sql,
    until,
    working,
)

from quire.entrypoints.engine import Engine
from quire.entrypoints.worker import build_worker
from quire.jobs import CompletionWatch, Handler, JobContext
from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.infrastructure.postgres import broker as postgres_broker
from quire.jobs.infrastructure.postgres.lease_store import PostgresLeaseStore
from quire.jobs.ports.v1.broker import WORK
from quire.jobs.ports.v1.lease_store import Claim
from quire.runtime.settings import load_settings

LISTENERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'quire-listen'"


class Starts:
    """A handler that notes when it was started."""

    def __init__(self) -> None:
        self.at: asyncio.Queue[float] = asyncio.Queue()

    async def __call__(self, payload: object, context: JobContext) -> None:
        await self.at.put(time.monotonic())


async def test_announced_work_starts_long_before_the_next_poll(dsn: str, tmp_path: Path) -> None:
    starts = Starts()
    async with engine_at_work(
        dsn, tmp_path, handlers=[Handler("test.start", starts)], WORKER_POLL_SEC=30
    ) as engine:
        await until(lambda: _listeners(engine))
        delays = []
        for _ in range(10):
            began = time.monotonic()
            await enqueue_one(engine, "test.start")
            delays.append(await asyncio.wait_for(starts.at.get(), 5) - began)
    assert sorted(delays)[5] < 0.25, delays


async def test_without_notifications_polling_does_the_work(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path, QUIRE_POLL_ONLY=True, WORKER_POLL_SEC=0.1) as engine:
        jobs = await ended(engine, *[await enqueue_one(engine) for _ in range(3)])
        assert await run_sql(engine, LISTENERS) == []
    assert {job.state for job in jobs} == {"succeeded"}


class NotedClaims(PostgresLeaseStore):
    """Notes when it was asked for work."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.database, engine.policies)
        self.at: list[float] = []

    async def claim(
        self, worker_id: UUID, queues: Sequence[QueuePolicy], limit: int, lease_seconds: float
    ) -> Claim:
        self.at.append(time.monotonic())
        return await super().claim(worker_id, queues, limit, lease_seconds)


async def test_an_idle_worker_looks_again_after_one_to_two_seconds(dsn: str, tmp_path: Path) -> None:
    assert load_settings().poll_seconds == 1.0
    # The same in tenths.
    settings = engine_settings(dsn, tmp_path, WORKER_POLL_SEC=0.1)
    async with opened_engine(dsn, tmp_path, QUIRE_POLL_ONLY=True) as engine:
        claims = NotedClaims(engine)
        worker = build_worker(replace(engine, leases=claims), settings)
        task = asyncio.create_task(worker.run())
        await until(lambda: _asked(claims, 12))
        worker.stop()
        await asyncio.wait_for(task, 15)
    naps = [later - earlier for earlier, later in itertools.pairwise(claims.at[:12])]
    assert 0.1 <= min(naps) < 0.2, naps
    # Not all the same, or workers that woke together would stay in step.
    assert max(naps) > 0.13, naps


async def test_a_chain_does_not_wait_for_polls_between_its_links(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path, WORKER_POLL_SEC=30) as engine:
        await until(lambda: _listeners(engine))
        first = await enqueue_one(engine)
        second = await enqueue_one(engine, depends_on=(first,))
        third = await enqueue_one(engine, depends_on=(second,))
        await ended(engine, first, second, third, seconds=5)


async def test_a_worker_listens_again_after_its_connection_was_cut(dsn: str, tmp_path: Path) -> None:
    starts = Starts()
    async with engine_at_work(
        dsn, tmp_path, handlers=[Handler("test.start", starts)], WORKER_POLL_SEC=30
    ) as engine:
        await until(lambda: _listeners(engine))
        old = await run_sql(engine, LISTENERS)
        await run_sql(engine, f"SELECT pg_terminate_backend(pid) FROM ({LISTENERS}) l")
        await until(lambda: _new_listener(engine, old))
        # Whatever was announced while nobody listened is found at once, too.
        job_id = await enqueue_one(engine, "test.start")
        await asyncio.wait_for(starts.at.get(), 3)
        await ended(engine, job_id)


async def test_work_announced_while_nobody_listened_is_found_when_the_listener_is_back(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        woken = asyncio.Event()
        listener = postgres_broker.PostgresBroker(engine.database, dsn)
        listener.subscribe(WORK, woken.set)
        await listener.start()
        try:
            await asyncio.wait_for(woken.wait(), 5)
            woken.clear()
            await run_sql(engine, f"SELECT pg_terminate_backend(pid) FROM ({LISTENERS}) l")
            await asyncio.wait_for(woken.wait(), 5)
        finally:
            await listener.close()


async def test_a_burst_of_announcements_is_merged_and_the_last_one_is_never_swallowed(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine, opened_engine(dsn, tmp_path) as other:
        heard: list[float] = []
        other.broker.subscribe(WORK, lambda: heard.append(time.monotonic()))
        await other.broker.start()
        at_start = len(heard)
        for _ in range(200):
            engine.broker.announce(WORK)
        last = time.monotonic()
        await until(lambda: _heard_after(heard, last))
        assert len(heard) - at_start < 20


async def test_one_process_listens_on_one_connection_however_much_it_runs(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path, WORKER_CONCURRENCY=20) as engine:
        await ended(engine, *[await enqueue_one(engine) for _ in range(40)])
        assert len(await run_sql(engine, LISTENERS)) == 1


async def test_waiters_for_a_result_are_told_when_it_is_there(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        watch = CompletionWatch(engine.board, engine.broker)
        await engine.broker.start()
        watch.start()
        try:
            job_id = await enqueue_one(engine)
            waiters = [asyncio.create_task(watch.wait(job_id, 10)) for _ in range(5)]
            async with working(dsn, tmp_path):
                await asyncio.wait_for(asyncio.gather(*waiters), 5)
            began = time.monotonic()
            await watch.wait(UUID(int=1), 0.2)
            assert 0.15 < time.monotonic() - began < 2
        finally:
            await watch.close()


async def _asked(claims: NotedClaims, times: int) -> bool:
    return len(claims.at) >= times


async def _listeners(engine: Engine) -> bool:
    return bool(await run_sql(engine, LISTENERS))


async def _new_listener(engine: Engine, old: list[tuple[object, ...]]) -> bool:
    now = await run_sql(engine, LISTENERS)
    return bool(now) and now != old


async def _heard_after(heard: list[float], moment: float) -> bool:
    return bool(heard) and heard[-1] > moment

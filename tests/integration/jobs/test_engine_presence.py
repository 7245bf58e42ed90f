"""J16: workers are seen while they work, and missed within a second."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.engine_fixture import (
    ended,
    enqueue,
    enqueue_one,
    opened_engine,
    run_sql,
    until,
    working,
    write_config,
)

from quire.entrypoints.engine import Engine
from quire.jobs import Handler, JobContext, JobRequest
from quire.jobs.domain.errors import NoLiveWorkerError
from quire.jobs.ports.v1.worker_registry import WorkerCard

OTHER_QUEUES = ("default", "fair", "metered", "gateway")


async def test_a_worker_shows_who_it_is_and_what_it_does(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        async with working(dsn, tmp_path, WORKER_QUEUES="default,m*", WORKER_CONCURRENCY=7) as worker:
            await enqueue_one(engine, "jobs.sleep", {"seconds": 30})
            await until(lambda: _running(engine, 1))
            live = (await engine.registry.live())[0]
        assert (live.id, live.pid, live.concurrency) == (worker.card.id, os.getpid(), 7)
        assert set(live.queues) == {"default", "medium", "metered"}
        assert live.claiming
        assert await engine.registry.live() == []


async def test_a_worker_that_stops_beating_is_missed_within_a_second(dsn: str, tmp_path: Path) -> None:
    card = WorkerCard(uuid4(), "host", 1, "0", ("default",), 1, 60.0)
    async with opened_engine(dsn, tmp_path) as engine:
        await engine.registry.register(card)
        await engine.registry.beat(card.id, 0, claiming=True)
        began = time.monotonic()
        assert [worker.id for worker in await engine.registry.live()] == [card.id]
        assert await _serves(engine, "default")
        await until(lambda: _nobody(engine))
        assert 0.5 < time.monotonic() - began < 2.0
        assert not await _serves(engine, "default")


async def test_a_kind_that_needs_a_worker_is_refused_without_one_and_accepted_again_with_one(
    dsn: str, tmp_path: Path
) -> None:
    handlers = [Handler("test.served", _noop)]
    async with opened_engine(dsn, tmp_path, handlers=handlers) as engine:
        with pytest.raises(NoLiveWorkerError) as refusal:
            await enqueue_one(engine, "test.served")
        assert (refusal.value.code, refusal.value.retryable) == ("TEST_UNAVAILABLE", True)
        assert await run_sql(engine, "SELECT 1 FROM jobs") == []
        await enqueue_one(engine, "jobs.noop")
        async with working(dsn, tmp_path, handlers=handlers):
            await until(lambda: _serves(engine, "default"))
            await ended(engine, await enqueue_one(engine, "test.served"))
        with pytest.raises(NoLiveWorkerError):
            await enqueue_one(engine, "test.served")


async def test_a_worker_of_other_queues_does_not_count(dsn: str, tmp_path: Path) -> None:
    handlers = [Handler("test.served", _noop)]
    async with (
        opened_engine(dsn, tmp_path, handlers=handlers) as engine,
        working(dsn, tmp_path, handlers=handlers, WORKER_QUEUES="large"),
    ):
        await until(lambda: _serves(engine, "large"))
        with pytest.raises(NoLiveWorkerError):
            await enqueue_one(engine, "test.served")


async def test_a_worker_runs_jobs_of_its_queues_alone_and_as_many_at_once_as_it_is_told(
    dsn: str, tmp_path: Path
) -> None:
    at_work: dict[str, int] = {"now": 0, "most": 0}
    seen: list[object] = []
    released = asyncio.Event()

    async def hold(payload: object, context: JobContext) -> None:
        at_work["now"] += 1
        at_work["most"] = max(at_work["most"], at_work["now"])
        seen.append(payload)
        await released.wait()
        at_work["now"] -= 1

    handlers = [Handler("test.hold", hold)]
    async with opened_engine(dsn, tmp_path, handlers=handlers) as engine:
        mine = [
            JobRequest("test.hold", {"n": n}, queue=("medium", "large", "xlarge")[n % 3]) for n in range(9)
        ]
        others = [JobRequest("test.hold", {"n": -n}, queue=name) for n, name in enumerate(OTHER_QUEUES, 1)]
        receipts = await enqueue(engine, *others, *mine)
        left = [receipt.job_id for receipt in receipts[: len(others)]]
        async with working(
            dsn, tmp_path, handlers=handlers, WORKER_QUEUES="med*, *large", WORKER_CONCURRENCY=4
        ):
            await until(lambda: _running(engine, 4))
            released.set()
            await ended(engine, *(receipt.job_id for receipt in receipts[len(others) :]))
        assert sorted(item["n"] for item in seen if isinstance(item, dict)) == list(range(9))
        assert at_work["most"] == 4
        rows = await run_sql(engine, "SELECT state, attempt FROM jobs WHERE id = ANY($1)", left)
        assert rows == [("queued", 0)] * len(others)


async def test_the_command_line_chooses_queues_and_concurrency(dsn: str, tmp_path: Path) -> None:
    environment = {
        "DATABASE_URL": dsn,
        "QUIRE_STORAGE_URL": f"file:{tmp_path / 'storage'}",
        "QUIRE_CONFIG_DIR": str(write_config(tmp_path)),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "quire", "worker", "--queues", "m*,*large", "--concurrency", "3"),
        env={**os.environ, **environment},
        cwd=tmp_path,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with opened_engine(dsn, tmp_path) as engine:
            await until(lambda: engine.registry.live(), 60)
            live = (await engine.registry.live())[0]
        assert (live.pid, live.concurrency) == (process.pid, 3)
        assert set(live.queues) == {"medium", "metered", "large", "xlarge"}
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 30)


async def test_a_worker_that_is_finishing_up_takes_no_new_promises(dsn: str, tmp_path: Path) -> None:
    released = asyncio.Event()

    async def hold(payload: object, context: JobContext) -> None:
        await released.wait()

    handlers = [Handler("test.hold", hold), Handler("test.served", _noop)]
    async with (
        opened_engine(dsn, tmp_path, handlers=handlers) as engine,
        working(dsn, tmp_path, handlers=handlers, WORKER_SHUTDOWN_GRACE_SEC=20) as worker,
    ):
        job_id = await enqueue_one(engine, "test.hold")
        await until(lambda: _running(engine, 1))
        worker.stop()
        await until(lambda: _not_served(engine))
        assert len(await engine.registry.live()) == 1
        released.set()
        assert (await ended(engine, job_id))[0].state == "succeeded"


async def _noop(payload: object, context: JobContext) -> None:
    return None


async def _running(engine: Engine, count: int) -> bool:
    live = await engine.registry.live()
    return bool(live) and live[0].running_jobs == count


async def _nobody(engine: Engine) -> bool:
    return not await engine.registry.live()


async def _serves(engine: Engine, queue: str) -> bool:
    return queue in (await engine.intake.store.survey([], [queue])).served


async def _not_served(engine: Engine) -> bool:
    return not await _serves(engine, "default")

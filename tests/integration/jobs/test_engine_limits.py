"""J7, J17: time limits and cancels. First the polite signal, then the certain end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path
from uuid import UUID

from tests.support.engine_fixture import (
    EVERYTHING,
    detail_of,
    ended,
    engine_at_work,
    enqueue_one,
    job_of,
    opened_engine,
    run_sql,
    state_is,
    until,
)

from quire.entrypoints.engine import Engine
from quire.jobs import Handler, JobContext, JobError, heed_stop
from quire.jobs.application.execution import limiter


class Probe:
    """A handler that tells when it was started, asked and ended, and behaves as it is told."""

    def __init__(self, manner: str) -> None:
        self.manner = manner
        self.started = asyncio.Event()
        self.asked_after: float | None = None
        self.ended = asyncio.Event()
        self.released = asyncio.Event()

    async def __call__(self, payload: object, context: JobContext) -> object:
        began = time.monotonic()
        self.started.set()
        try:
            await context.stop_requested.wait()
            self.asked_after = time.monotonic() - began
            return await self._behave()
        finally:
            self.ended.set()

    async def _behave(self) -> object:
        if self.manner == "finishes":
            return "in time"
        if self.manner == "raises":
            raise JobError("stopped as asked", code="STOPPED")
        while self.manner == "swallows" and not self.released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.released.wait()
        return await asyncio.get_running_loop().create_future()


async def test_a_handler_that_heeds_the_soft_signal_finishes(dsn: str, tmp_path: Path) -> None:
    probe = Probe("finishes")
    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.brief", probe)]) as engine:
        job = (await ended(engine, await enqueue_one(engine, "test.brief")))[0]
    assert (job.state, job.result) == ("succeeded", "in time")
    assert probe.asked_after is not None
    assert 0.25 < probe.asked_after < 0.75


async def test_the_hard_limit_ends_the_attempt_with_the_kinds_code_and_frees_the_slot(
    dsn: str, tmp_path: Path
) -> None:
    probe = Probe("ignores")
    async with engine_at_work(
        dsn, tmp_path, handlers=[Handler("test.brief", probe)], WORKER_CONCURRENCY=1
    ) as engine:
        stuck = await enqueue_one(engine, "test.brief")
        await asyncio.wait_for(probe.started.wait(), 5)
        behind = await enqueue_one(engine, "jobs.noop")
        jobs = await ended(engine, stuck, behind)
        events = (await detail_of(engine, stuck)).events
    assert [(job.state, job.error_code) for job in jobs] == [("failed", "TEST_TIMEOUT"), ("succeeded", None)]
    assert events[-1].duration_ms is not None
    assert 750 < events[-1].duration_ms < 2000
    assert probe.ended.is_set()


async def test_a_handler_that_swallows_its_cancellation_loses_its_slot_anyway(
    dsn: str, tmp_path: Path
) -> None:
    probe = Probe("swallows")
    async with engine_at_work(
        dsn, tmp_path, handlers=[Handler("test.brief", probe)], WORKER_CONCURRENCY=1
    ) as engine:
        stuck, behind = await enqueue_one(engine, "test.brief"), await enqueue_one(engine, "jobs.noop")
        jobs = await ended(engine, stuck, behind)
        assert not probe.ended.is_set()
        probe.released.set()
    assert [(job.state, job.error_code) for job in jobs] == [("failed", "TEST_TIMEOUT"), ("succeeded", None)]


async def test_work_that_heeds_the_stop_is_cancelled_at_the_soft_limit_and_again_at_the_hard_one(
    dsn: str, tmp_path: Path
) -> None:
    cancelled: dict[object, list[float]] = {"tidy": [], "slow": []}

    async def work(manner: object, began: float) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled[manner].append(time.monotonic() - began)
            if manner == "slow":
                try:
                    await asyncio.sleep(60)
                finally:
                    cancelled[manner].append(time.monotonic() - began)
            raise

    async def handle(payload: object, context: JobContext) -> None:
        assert isinstance(payload, dict)
        await heed_stop(context, work(payload["manner"], context.lease.claimed_at))

    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.brief", handle)]) as engine:
        ids = [await enqueue_one(engine, "test.brief", {"manner": manner}) for manner in cancelled]
        jobs = await ended(engine, *ids)
    assert [(job.state, job.error_code) for job in jobs] == [("failed", "TEST_TIMEOUT")] * 2
    assert [job.error_message for job in jobs] == [
        "not done after 0.3 s, when it was asked to stop; its limit is 0.8 s",
        "not done within 0.8 s",
    ]
    assert [len(cancelled[manner]) for manner in ("tidy", "slow")] == [1, 2]
    assert 0.3 <= cancelled["tidy"][0] < 0.8
    assert 0.3 <= cancelled["slow"][0] < 0.8 <= cancelled["slow"][1]


async def test_the_hard_limit_kills_the_children_of_the_attempt_and_their_children(
    dsn: str, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"

    async def spawn(payload: object, context: JobContext) -> None:
        await context.run_child(["sh", "-c", f"sleep 60 & echo $! > {pids}; echo $$ >> {pids}; wait"])

    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.brief", spawn)]) as engine:
        job = (await ended(engine, await enqueue_one(engine, "test.brief")))[0]
        assert job.error_code == "TEST_TIMEOUT"
        for pid in map(int, pids.read_text().split()):
            await until(lambda pid=pid: _gone(pid))  # type: ignore[misc]


async def test_a_queued_job_is_cancelled_at_once(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        job_id = await enqueue_one(engine)
        assert await _cancel(engine, job_id) == "cancelled"
        job = await job_of(engine, job_id)
        assert (job.state, job.attempt) == ("cancelled", 0)
        assert job.finished_at is not None
        assert await _cancel(engine, job_id) == "already_ended"


async def test_a_running_job_is_cancelled_whatever_its_handler_thinks_of_it(dsn: str, tmp_path: Path) -> None:
    """Asked through NOTIFY at once, cancelled hard after the grace, abandoned if even that is swallowed."""
    probes = {manner: Probe(manner) for manner in ("raises", "ignores", "swallows")}
    handlers = [Handler(f"test.{manner}", probe) for manner, probe in probes.items()]
    async with engine_at_work(dsn, tmp_path, handlers=handlers) as engine:
        ids = {manner: await enqueue_one(engine, f"test.{manner}") for manner in probes}
        for manner, probe in probes.items():
            await asyncio.wait_for(probe.started.wait(), 5)
            assert await _cancel(engine, ids[manner]) == "cancelling"
        # Far less than the 20 s between two beats: the cancel is told, not found.
        heeding = (await ended(engine, ids["raises"], seconds=3))[0]
        others = await ended(
            engine, ids["ignores"], ids["swallows"], seconds=limiter.CANCEL_GRACE_SECONDS + 6
        )
        assert probes["ignores"].ended.is_set()
        assert not probes["swallows"].ended.is_set()
        probes["swallows"].released.set()
        assert await run_sql(engine, "SELECT 1 FROM problems") == []
    assert [(job.state, job.error_code) for job in (heeding, *others)] == [("cancelled", None)] * 3


async def test_a_job_that_finishes_although_it_was_cancelled_has_succeeded(dsn: str, tmp_path: Path) -> None:
    probe = Probe("finishes")
    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.probe", probe)]) as engine:
        job_id = await enqueue_one(engine, "test.probe")
        await asyncio.wait_for(probe.started.wait(), 5)
        await _cancel(engine, job_id)
        assert (await ended(engine, job_id))[0].state == "succeeded"


async def test_the_artifact_of_an_attempt_that_failed_is_removed(dsn: str, tmp_path: Path) -> None:
    keys: list[str] = []

    async def put_and_fail(payload: object, context: JobContext) -> None:
        keys.append((await context.put_artifact(b"half", filename="half.txt")).key)
        raise JobError("no", code="NO")

    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.half", put_and_fail)]) as engine:
        job_id = await enqueue_one(engine, "test.half")
        await until(lambda: state_is(engine, job_id, "failed"))
        await until(lambda: _missing(engine, keys[0]))
        assert (await job_of(engine, job_id)).artifact_key is None


async def _cancel(engine: Engine, job_id: UUID) -> str | None:
    outcome = await engine.board.cancel(job_id, EVERYTHING, "ann", force=False)
    engine.broker.announce("cancel")
    return outcome


async def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return "Z (zombie)" in Path(f"/proc/{pid}/status").read_text()


async def _missing(engine: Engine, key: str) -> bool:
    return not await engine.storage.exists(key)

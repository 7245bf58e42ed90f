"""The database restarts, loses a backend, or dies whole, while workers work and a client sends."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator

import asyncpg
import pytest
from tests.support.auditor import Auditor, all_ended
from tests.support.load import Enqueuer, engine_door, enqueue
from tests.support.processes import ODD, WorkerYard, holds, kill_tree
from tests.support.records import each_reaches, job_of
from tests.support.site import SHORT_QUEUE, SHORT_SECONDS, Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.entrypoints.migrate import migrate
from quire.jobs import JobRequest, JobState
from quire.jobs.application.execution.heartbeat import STUCK_SECONDS
from quire.runtime.embedded_postgres import EmbeddedPostgres

WORKERS = 2


@pytest.fixture(scope="module")
def private_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(tmp_path_factory.mktemp("hurt_postgres"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
async def dsn(private_server: EmbeddedPostgres, request: pytest.FixtureRequest) -> str:
    """Instead of the shared server's: this one may be hurt."""
    private_server.start()
    name = f"hurt_{abs(hash(request.node.name))}"
    connection = await asyncpg.connect(private_server.dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    await migrate(private_server.dsn_of(name))
    return private_server.dsn_of(name)


@pytest.fixture
def max_crashes() -> int:
    """A lease that ran out while the server was away counts as a crash; here that may happen often."""
    return 100


def restart(server: EmbeddedPostgres) -> None:
    server.stop()
    server.start()


def kill_backend(server: EmbeddedPostgres) -> None:
    """The postmaster ends all other backends and recovers from WAL by itself."""
    pid = asyncio.run(busy_backend(server.dsn))
    os.kill(pid, signal.SIGKILL)


async def busy_backend(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        pid = await connection.fetchval(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'quire-worker' ORDER BY random() LIMIT 1"
        )
    finally:
        await connection.close()
    assert isinstance(pid, int)
    return pid


def kill_server(server: EmbeddedPostgres) -> None:
    assert server.process is not None
    kill_tree(server.pid)
    server.process.wait()
    server.start()


@pytest.mark.parametrize("hurt", [restart, kill_backend, kill_server], ids=lambda hurt: hurt.__name__)
async def test_every_acknowledged_job_ends_once_and_workers_recover_by_themselves(
    hurt: Callable[[EmbeddedPostgres], None],
    private_server: EmbeddedPostgres,
    site: Site,
    engine: Engine,
    yard: WorkerYard,
) -> None:
    workers = [yard.start(WORKER_CONCURRENCY=8) for _ in range(WORKERS)]
    worker_ids = [await worker.started() for worker in workers]
    with Enqueuer(engine_door(site), batch=20, pause_seconds=0.05) as client:
        for worker_id in worker_ids:
            await holds(engine, worker_id, 2)
        # The hurt waits for the server; the client has a thread of its own and feels all of it.
        await asyncio.to_thread(hurt, private_server) if hurt is kill_backend else hurt(private_server)
        await client.reaches(len(client.accepted) + 200)
        for worker_id in worker_ids:
            await holds(engine, worker_id, 1)
    await all_ended(engine)
    assert [worker.exit_code for worker in workers] == [None] * WORKERS
    report = await Auditor(engine, site.storage_dir, client.accepted).report()
    print(f"{len(client.accepted)} jobs, {client.refusals} refusals, {report.reclaims} reclaims")
    assert report.states == {"succeeded": len(client.accepted)}, report.errors


async def test_result_waits_for_a_database_that_is_away_longer_than_the_time_limit(
    private_server: EmbeddedPostgres, site: Site, engine: Engine, yard: WorkerYard
) -> None:
    """A finished job whose result cannot be written yet is not overdue, and its worker is not stuck."""
    worker = yard.start(ODD, WORKER_LEASE_TTL_SEC=30, WORKER_CONCURRENCY=2)
    worker_id = await worker.started()
    accepted = await enqueue(engine, JobRequest("jobs.sleep", {"seconds": 0.45}, queue=SHORT_QUEUE))
    await holds(engine, worker_id, 1)
    private_server.stop()
    # Past the moment at which a job that is still running would prove a blocked event loop.
    until = time.monotonic() + SHORT_SECONDS + STUCK_SECONDS + 2.0
    await worker.said("completion_delayed")
    await eventually(lambda: passed(until), "the outage")
    assert worker.exit_code is None, worker.output[-2000:]
    private_server.start()
    await each_reaches(engine, accepted, lambda job: job.state is JobState.SUCCEEDED, "the late result")
    job = await job_of(engine, accepted[0])
    assert (job.attempt, job.crash_count) == (1, 0)
    await Auditor(engine, site.storage_dir, accepted).report()


async def passed(moment: float) -> bool:
    return time.monotonic() > moment

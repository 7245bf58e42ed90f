"""API, two workers and Postgres on hosts of their own, and the network between them falls silent."""

from __future__ import annotations

import signal
import time
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

import asyncpg
import httpx
import pytest
from tests.support.auditor import Auditor, all_ended, stored_keys
from tests.support.distant_postgres import DistantPostgres
from tests.support.load import Enqueuer, enqueue, http_door
from tests.support.network import Network, network_of
from tests.support.processes import ODD, WorkerProcess, WorkerYard, holds, running_under
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.entrypoints.migrate import migrate
from quire.jobs import JobRequest
from quire.runtime.auth import TenantStore, TokenGrant, TokenStore
from quire.runtime.database import SILENCE_SECONDS, Database

JOBS = 4
API = ("-m", "quire", "api", "--host", "0.0.0.0", "--port", "8700")
# Noticed, and an answer written on a busy machine.
NEWS_SECONDS = SILENCE_SECONDS + 4.0


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    """This thread is on the host `desk`, which is never cut off."""
    with network_of("desk", "api", "one", "two", "db") as network, network.inside("desk"):
        yield network


@pytest.fixture(autouse=True)
def whole_again(network: Network) -> Iterator[None]:
    yield
    network.heal_all()


@pytest.fixture(scope="module")
def distant_server(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DistantPostgres]:
    server = DistantPostgres(tmp_path_factory.mktemp("distant_postgres"), network.address("db"))
    try:
        with network.inside("db"):
            server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
async def dsn(distant_server: DistantPostgres, request: pytest.FixtureRequest) -> str:
    name = f"distant_{abs(hash(request.node.name))}"
    connection = await asyncpg.connect(distant_server.dsn)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    await migrate(distant_server.dsn_of(name))
    return distant_server.dsn_of(name)


@pytest.fixture
def max_crashes() -> int:
    """A cut may take the lease of one job more than once."""
    return 100


@pytest.fixture
async def token(dsn: str) -> str:
    database = await Database.open(dsn, application="test")
    try:
        await TenantStore(database).create("acme", "acme")
        grant = TokenGrant("acme", "ann", "test", "admin", frozenset(), None)
        _, parts = await TokenStore(database).create(grant, created_by="test")
        return parts.text
    finally:
        await database.close()


def start_on(network: Network, host: str, yard: WorkerYard, **extra: object) -> WorkerProcess:
    with network.inside(host):
        return yard.start(ODD, **extra)


@pytest.fixture
async def api(network: Network, yard: WorkerYard, token: str) -> AsyncIterator[httpx.AsyncClient]:
    with network.inside("api"):
        process = yard.start(API)
    await process.said("api_listening", within_seconds=60)
    url = f"http://{network.address('api')}:8700"
    async with httpx.AsyncClient(
        base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as http:
        yield http


async def sessions_from(engine: Engine, address: str) -> int:
    async with engine.database.acquire() as connection:
        count: int = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE client_addr = $1::inet", address
        )
    return count


async def test_result_of_a_worker_cut_off_past_its_lease_is_refused_when_the_cut_heals(
    network: Network, site: Site, engine: Engine, yard: WorkerYard
) -> None:
    lost = start_on(network, "one", yard)
    lost_id = await lost.started()
    requests = [JobRequest("odd.store_slowly", {"number": n, "seconds": 1.0}) for n in range(JOBS)]
    accepted = await enqueue(engine, *requests)
    await holds(engine, lost_id, JOBS)
    await eventually(lambda: stored_at_least(engine, JOBS), "bytes of the first attempts")
    network.cut("one", "db")

    rival = start_on(network, "two", yard)
    await rival.started()
    await all_ended(engine)
    # The server gave up the sessions of the silent host by itself.
    await eventually(lambda: no_sessions(engine, network.address("one")), "the end of half-open sessions")
    await lost.said("completion_delayed")
    network.heal("one", "db")
    await lost_all(lost, accepted)
    assert rival.events("lease_lost") == []

    # And works on, alone.
    rival.send(signal.SIGTERM)
    assert await rival.ended() == 0
    accepted += await enqueue(engine, JobRequest("jobs.store", {"text": "after the cut"}))
    await all_ended(engine)
    assert lost.exit_code is None
    report = await Auditor(engine, site.storage_dir, accepted).report()
    assert report.states == {"succeeded": JOBS + 1}
    assert report.reclaims == JOBS


async def stored_at_least(engine: Engine, count: int) -> bool:
    return len(await stored_keys(engine)) >= count


async def no_sessions(engine: Engine, address: str) -> bool:
    return not await sessions_from(engine, address)


async def lost_all(worker: WorkerProcess, job_ids: list[UUID]) -> None:
    async def probe() -> bool:
        lost = {entry["job_id"] for entry in worker.events("lease_lost")}
        return {str(job_id) for job_id in job_ids} <= lost

    await eventually(probe, "lease_lost of every job in the log")


async def test_api_cut_from_its_database_says_so_in_seconds_and_recovers_by_itself(
    network: Network, engine: Engine, api: httpx.AsyncClient
) -> None:
    body = {"kind": "jobs.noop", "payload": {"when": "before"}}
    assert (await api.post("/jobs", json=body)).status_code == 201
    network.cut("api", "db")
    asked_at = time.monotonic()
    answer = await api.post("/jobs", json={"kind": "jobs.noop", "payload": {"when": "during"}})
    assert time.monotonic() - asked_at < NEWS_SECONDS
    assert (answer.status_code, answer.json()["error_code"]) == (503, "DATABASE_UNAVAILABLE")
    assert answer.json()["retryable"]
    assert (await api.get("/readyz")).status_code == 503
    assert (await api.get("/livez")).status_code == 200
    await eventually(lambda: no_sessions(engine, network.address("api")), "the end of half-open sessions")
    network.heal("api", "db")

    async def accepts() -> bool:
        answer = await api.post("/jobs", json={"kind": "jobs.noop", "payload": {"when": "after"}})
        return answer.status_code == 201

    await eventually(accepts, "the API's recovery", within_seconds=20)
    assert (await api.get("/readyz")).status_code == 200


async def test_every_job_ends_once_while_each_host_is_cut_off_in_turn_under_load(
    network: Network, site: Site, engine: Engine, yard: WorkerYard, api: httpx.AsyncClient, token: str
) -> None:
    workers = {host: start_on(network, host, yard, WORKER_CONCURRENCY=8) for host in ("one", "two")}
    ids = {host: await worker.started() for host, worker in workers.items()}
    with Enqueuer(http_door(str(api.base_url), token), batch=20, pause_seconds=0.1) as client:
        for host in ("one", "api", "two"):
            for worker_id in ids.values():
                await holds(engine, worker_id, 1)
            network.cut(host, "db")
            await (refusal(client) if host == "api" else reclaim_from(engine, ids[host]))
            network.heal(host, "db")
            await client.reaches(len(client.accepted) + 40)
    await all_ended(engine)
    assert [worker.exit_code for worker in workers.values()] == [None, None]
    report = await Auditor(engine, site.storage_dir, client.accepted).report()
    print(f"{len(client.accepted)} jobs, {client.refusals} refusals, {report.reclaims} reclaims")
    assert report.states == {"succeeded": len(client.accepted)}, report.errors
    assert report.reclaims >= 2


async def refusal(client: Enqueuer) -> None:
    async def probe() -> bool:
        return client.refusals > 0

    await eventually(probe, "a refusal")


async def reclaim_from(engine: Engine, worker_id: UUID) -> None:
    async def probe() -> bool:
        return not await running_under(engine, worker_id)

    await eventually(probe, "the reclaim of its jobs")

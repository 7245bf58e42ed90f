"""A broker that is down or takes no more, seen by a caller, by the doctor and in the metrics."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
from tests.support.api_server import api_settings, client_of, serving_api
from tests.support.broker_servers import RabbitServer, RedisServer, free_port
from tests.support.broker_servers import rabbit_server as rabbit_server
from tests.support.broker_servers import redis_server as redis_server
from tests.support.broker_setup import BrokerUnderTest, worker
from tests.support.broker_setup import message_system as message_system
from tests.support.engine_fixture import until

from quire.entrypoints.doctor import check_broker
from quire.runtime.auth import ensure_admin_token
from quire.runtime.database import Database
from quire.runtime.settings import load_settings

JOB = {"kind": "jobs.noop", "payload": {"number": 1}}
PATIENCE_SECONDS = 60.0
# A ping may take five; the rest is for a busy machine.
ANSWER_SECONDS = 15.0
REFUSAL = (503, "BROKER_UNAVAILABLE")


@contextlib.asynccontextmanager
async def killed(broker: BrokerUnderTest) -> AsyncIterator[None]:
    """By kill -9, and started again at the end."""
    assert broker.server is not None
    broker.server.kill()
    try:
        yield
    finally:
        await asyncio.to_thread(broker.server.start)


@contextlib.asynccontextmanager
async def caller_of(
    broker: BrokerUnderTest, database: Database, dsn: str, directory: Path, *, required: bool
) -> AsyncIterator[httpx.AsyncClient]:
    token = await ensure_admin_token(database, directory / "admin.token")
    names = {"QUIRE_BROKER_URL": broker.url, "QUIRE_BROKER_REQUIRED": required}
    async with (
        serving_api(api_settings(dsn, directory, **names)) as url,
        client_of(url, token) as client,
    ):
        yield client


async def refusals(client: httpx.AsyncClient) -> list[tuple[int, str]]:
    """What one job and a batch are answered, each within its time."""
    found = []
    for path, body in (("/jobs", JOB), ("/jobs/batch", {"jobs": [JOB]})):
        asked_at = time.monotonic()
        answer = await client.post(path, json=body)
        assert time.monotonic() - asked_at < ANSWER_SECONDS
        found.append((answer.status_code, str(answer.json().get("error_code"))))
    return found


async def left_behind(database: Database) -> int:
    async with database.acquire() as connection:
        tables = ("jobs", "job_lanes", "job_events", "artifacts")
        return sum([await connection.fetchval(f"SELECT count(*) FROM {table}") for table in tables])


async def accepted_id(client: httpx.AsyncClient) -> str:
    asked_at = time.monotonic()
    answer = await client.post("/jobs", json=JOB)
    assert answer.status_code in (200, 201, 202), answer.text
    assert time.monotonic() - asked_at < ANSWER_SECONDS
    return str(answer.json()["job_id"])


async def delivered(client: httpx.AsyncClient, job_id: str) -> bool:
    return bool((await client.get(f"/jobs/{job_id}")).json()["state"] == "succeeded")


async def test_creation_answers_503_while_a_required_broker_is_down(
    message_system: BrokerUnderTest, dsn: str, database: Database, tmp_path: Path
) -> None:
    async with caller_of(message_system, database, dsn, tmp_path, required=True) as client:
        async with killed(message_system):
            assert await refusals(client) == [REFUSAL, REFUSAL]
            assert await left_behind(database) == 0
            assert "quire_broker_up 0.0" in (await client.get("/metrics")).text
        await accepted_id(client)


async def test_work_accepted_while_the_broker_is_down_is_delivered_later(
    message_system: BrokerUnderTest, dsn: str, database: Database, tmp_path: Path
) -> None:
    async with (
        caller_of(message_system, database, dsn, tmp_path, required=False) as client,
        worker(message_system, dsn, tmp_path, [], QUIRE_REPUBLISH_SEC=0.3),
    ):
        async with killed(message_system):
            job_id = await accepted_id(client)
            assert not await delivered(client, job_id)
        await until(lambda: delivered(client, job_id), PATIENCE_SECONDS)


async def test_creation_does_not_hang_while_rabbitmq_blocks_publishers(
    rabbit_server: RabbitServer, dsn: str, database: Database, tmp_path: Path
) -> None:
    """Its memory alarm: it answers everything, and stops reading from who publishes."""
    broker = BrokerUnderTest("dramatiq-rabbitmq", rabbit_server.url, rabbit_server)
    async with (
        caller_of(broker, database, dsn, tmp_path, required=True) as strict,
        caller_of(broker, database, dsn, tmp_path, required=False) as patient,
        worker(broker, dsn, tmp_path, [], QUIRE_REPUBLISH_SEC=0.3),
    ):
        with rabbit_server.short_of_memory():
            assert await refusals(strict) == [REFUSAL, REFUSAL]
            assert await left_behind(database) == 0
            job_id = await accepted_id(patient)
            assert not await delivered(patient, job_id)
        await until(lambda: delivered(patient, job_id), PATIENCE_SECONDS)
        # Equal work would be the job that is done.
        assert (await strict.post("/jobs", json={**JOB, "payload": {"number": 2}})).is_success


async def test_the_doctor_tells_a_broker_that_answers_from_one_that_does_not(
    redis_server: RedisServer,
) -> None:
    there = await check_broker(load_settings(QUIRE_BROKER_URL=redis_server.url))
    gone = await check_broker(load_settings(QUIRE_BROKER_URL=f"amqp://127.0.0.1:{free_port()}/"))
    wrong = await check_broker(load_settings(QUIRE_BROKER_URL="kafka://somewhere"))
    assert (there.status, there.detail) == ("ok", "Dramatiq on Redis answers")
    assert gone.status == "fail"
    assert "BROKER_UNAVAILABLE" in gone.detail
    assert (wrong.status, "SETTINGS_INVALID" in wrong.detail) == ("fail", True)
    assert (await check_broker(load_settings())).status == "ok"

"""A broker that is down, seen by a caller, by the doctor and in the metrics."""

from __future__ import annotations

from pathlib import Path

from tests.broker_servers import RedisServer, free_port
from tests.broker_servers import redis_server as redis_server
from tests.integration.api_server import api_settings, client_of, serving_api

from quire.entrypoints.doctor import check_broker
from quire.runtime.auth import ensure_admin_token
from quire.runtime.database import Database
from quire.runtime.settings import load_settings

JOB = {"kind": "jobs.noop", "payload": {"number": 1}}


async def test_creation_answers_503_while_a_required_broker_is_down(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    token = await ensure_admin_token(database, tmp_path / "admin.token")
    settings = api_settings(dsn, tmp_path, QUIRE_BROKER_URL=f"rq+redis://127.0.0.1:{free_port()}/0")
    async with serving_api(settings) as url, client_of(url, token) as client:
        answer = await client.post("/jobs", json=JOB)
        batch = await client.post("/jobs/batch", json={"jobs": [JOB]})
        assert (answer.status_code, answer.json()["error_code"]) == (503, "BROKER_UNAVAILABLE")
        assert (batch.status_code, batch.json()["error_code"]) == (503, "BROKER_UNAVAILABLE")
        assert (await client.get("/jobs")).json()["items"] == []
        assert "quire_broker_up 0.0" in (await client.get("/metrics")).text


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

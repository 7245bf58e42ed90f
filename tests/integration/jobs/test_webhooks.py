"""Webhooks from the transition to the receiver: real Postgres, real sockets, real processes."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import ssl
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from pydantic import SecretStr
from tests.support.api_server import client_of, serving_api
from tests.support.engine_fixture import (
    EVERYTHING,
    bury,
    claim,
    claim_one,
    claim_suspect,
    complete,
    engine_settings,
    enqueue,
    enqueue_one,
    expire_lease,
    run_sql,
    until,
    write_config,
)
from tests.support.quire_command import QuireCommand
from tests.support.webhook_receiver import Message, Receiver, receiving, status

from quire.entrypoints.engine import Engine, open_engine
from quire.entrypoints.webhooks import courier_running
from quire.jobs import JobRequest
from quire.jobs.domain.webhooks.webhook_errors import WebhookAddressError, WebhookHostError
from quire.jobs.infrastructure.http.webhook_sender import HttpWebhookSender
from quire.jobs.infrastructure.postgres.webhook_outbox import PostgresWebhookOutbox
from quire.runtime.auth import TenantStore, TokenGrant, TokenStore
from quire.runtime.database import Database
from quire.runtime.settings import Settings

QUICK = """
version: 1
retry: {attempts: 3, base_seconds: 0.01, factor: 2, cap_seconds: 0.05}
timeout_seconds: 1
lease_margin_seconds: 1
disable_after_dead: 2
"""
GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "webhooks.md"


@pytest.fixture
def settings(dsn: str, tmp_path: Path) -> Settings:
    config = write_config(tmp_path, webhooks=QUICK)
    return engine_settings(dsn, tmp_path, QUIRE_CONFIG_DIR=str(config), QUIRE_ALLOW_PRIVATE_WEBHOOKS=True)


@pytest.fixture
async def engine(settings: Settings) -> AsyncIterator[Engine]:
    async with open_engine(settings, application="test-engine") as engine:
        yield engine


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@pytest.fixture
async def acme(database: Database, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """An operator of tenant acme, on the served API."""
    async with serving_api(settings) as url, client_of(url, await token(database, "acme")) as client:
        yield client


async def token(database: Database, tenant: str, role: str = "operator") -> str:
    known = await TenantStore(database).page(after=None, limit=100)
    if tenant not in {item.id for item in known}:
        await TenantStore(database).create(tenant, tenant)
    grant = TokenGrant(tenant, "ann", "test", role)  # type: ignore[arg-type]
    return (await TokenStore(database).create(grant, created_by="test"))[1].text


@asynccontextmanager
async def courier(engine: Engine, settings: Settings) -> AsyncIterator[None]:
    def died() -> None:
        raise AssertionError("the courier died")

    async with courier_running(engine, settings, died):
        await engine.broker.start()
        yield


async def subscribe(client: httpx.AsyncClient, url: str, **fields: object) -> dict[str, Any]:
    answer = await client.post("/webhooks", json={"url": url, **fields})
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def deliveries(
    client: httpx.AsyncClient, webhook: dict[str, Any], **query: str
) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await client.get(f"/webhooks/{webhook['id']}/deliveries", params={**query, **cursor})
        assert answer.status_code == 200, answer.text
        page = answer.json()
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        cursor = {"cursor": page["next_cursor"]}


async def all_settled(
    client: httpx.AsyncClient, webhook: dict[str, Any], *states: str
) -> list[dict[str, Any]]:
    """The log, once every line of it is in one of these states."""

    async def settled() -> bool:
        log = await deliveries(client, webhook)
        return bool(log) and all(item["state"] in states for item in log)

    await until(settled, 20)
    return await deliveries(client, webhook)


async def finish_one(engine: Engine, tenant: str = "acme", kind: str = "jobs.noop") -> UUID:
    worker_id = uuid4()
    job_id = await enqueue_one(engine, kind, tenant=tenant)
    assert await complete(engine, worker_id, await claim_one(engine, worker_id))
    return job_id


def documented_verify() -> Callable[..., bytes]:
    """The very code that the guide tells receivers to use."""
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    exec(code.group(1), names)
    verify: Callable[..., bytes] = names["verify"]
    return verify


# What is told


async def test_every_way_a_job_can_end_is_told_once_and_signed(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url("/hook?x=1"))
    worker_id = uuid4()
    succeeded = await finish_one(engine)
    failed = await enqueue_one(engine)
    dependant = await enqueue_one(engine, depends_on=(failed,))
    await bury(engine, worker_id, await claim_one(engine, worker_id))
    cancelled = await enqueue_one(engine)
    await engine.board.cancel(cancelled, EVERYTHING, "ann", force=True)
    lost = await enqueue_one(engine)
    for claimed in (claim, claim, claim_suspect):
        assert (await claimed(engine, worker_id)).leases
        await expire_lease(engine, lost)
        await engine.leases.reclaim(100)
    await run_sql(engine, "UPDATE jobs SET expires_at = now() - interval '1 s' WHERE id = $1", succeeded)
    await engine.expiry.expire([succeeded], "sweeper")
    expected = Counter(
        {
            ("job.succeeded", str(succeeded)): 1,
            ("job.expired", str(succeeded)): 1,
            ("job.failed", str(failed)): 1,
            ("job.failed", str(dependant)): 1,
            ("job.cancelled", str(cancelled)): 1,
            ("job.failed", str(lost)): 1,
        }
    )
    verify = documented_verify()
    async with courier(engine, settings):
        messages = await receiver.until(6)
        log = await all_settled(acme, webhook, "delivered")
    assert Counter((m.event["type"], m.event["data"]["job_id"]) for m in messages) == expected
    assert Counter((item["event_type"], item["job_id"]) for item in log) == expected
    assert set(receiver.ids) == {item["id"] for item in log}
    for message in messages:
        assert verify(message.headers, message.body, [webhook["secret"]]) == message.body
        assert message.path == "/hook?x=1"
        assert message.headers["content-type"] == "application/json"
    data = next(m.event["data"] for m in messages if m.event["data"]["job_id"] == str(lost))
    assert (data["state"], data["previous_state"], data["error_code"]) == ("failed", "running", "WORKER_LOST")
    assert all(item["last_status"] == 200 for item in log)


async def test_a_subscription_hears_its_own_tenants_wanted_events_and_kinds_only(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, database: Database, receiver: Receiver
) -> None:
    async with client_of(str(acme.base_url), await token(database, "globex")) as globex:
        await subscribe(globex, receiver.url("/globex"))
        await subscribe(acme, receiver.url("/failures"), event_types=["job.failed"])
        await subscribe(acme, receiver.url("/render"), kinds=["render.*", "jobs.store"])
        await subscribe(
            acme, receiver.url("/jobs"), kinds=["jobs.*"], event_types=["job.queued", "job.running"]
        )
        disabled = await subscribe(acme, receiver.url("/disabled"))
        answer = await acme.patch(f"/webhooks/{disabled['id']}", json={"enabled": False})
        assert answer.json()["disabled_reason"] == "asked"
        await finish_one(engine)
        await finish_one(engine, tenant="globex")
        counts = await run_sql(
            engine, "SELECT event_type, count(*) FROM webhook_deliveries GROUP BY 1 ORDER BY 1"
        )
        assert counts == [("job.queued", 1), ("job.running", 1), ("job.succeeded", 1)]
        async with courier(engine, settings):
            messages = await receiver.until(3)
    assert Counter(m.path for m in messages) == {"/globex": 1, "/jobs": 2}
    assert {m.event["data"]["tenant_id"] for m in messages if m.path == "/globex"} == {"globex"}


async def test_a_transition_that_rolls_back_or_is_refused_by_its_fence_tells_nobody(
    engine: Engine, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    await subscribe(acme, receiver.url())
    await enqueue_one(engine)
    async with engine.database.acquire() as connection:
        undone = connection.transaction()
        await undone.start()
        await connection.execute("UPDATE webhook_subscriptions SET event_types = '{job.queued}'")
        await connection.execute(
            "INSERT INTO job_events (job_id, to_state, attempt, fence, actor) SELECT id, 'queued', 0, 0, 'x' FROM jobs"
        )
        assert await connection.fetchval("SELECT count(*) FROM webhook_deliveries") == 1
        await undone.rollback()
    not_held = await claim_one(engine, uuid4())
    assert await complete(engine, uuid4(), not_held) == frozenset()
    assert await run_sql(engine, "SELECT count(*) FROM webhook_deliveries") == [(0,)]


async def test_thousands_of_jobs_are_all_delivered_once(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    total, batch, worker_id = 3_000, 1000, uuid4()
    async with courier(engine, settings):
        for _ in range(total // batch):
            await enqueue(engine, *[JobRequest("jobs.noop", {}, unique=False) for _ in range(batch)])
            await complete(engine, worker_id, *(await claim(engine, worker_id, limit=batch)).leases)
            engine.broker.announce("ended")
        await receiver.until(total, 300)

        async def written() -> bool:
            left = await run_sql(engine, "SELECT count(*) FROM webhook_deliveries WHERE state <> 'delivered'")
            return left == [(0,)]

        await until(written, 60)
    # An answer that a starved machine lost is asked for again under the same id; that must stay the rare exception.
    assert len(set(receiver.ids)) == total
    assert len(receiver.ids) <= total + total // 1000
    assert len({m.event["data"]["job_id"] for m in receiver.messages}) == total
    assert len(await deliveries(acme, webhook, limit="500")) == total


# What goes wrong


async def test_a_failing_receiver_is_tried_again_under_the_same_id(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    replies = iter([status(500), b"", status(204)])

    async def answer(_message: Message) -> bytes:
        return next(replies)

    receiver.answer = answer
    await finish_one(engine)
    async with courier(engine, settings):
        messages = await receiver.until(3)
        (line,) = await all_settled(acme, webhook, "delivered")
    assert len({m.id for m in messages}) == 1
    assert len({m.body for m in messages}) == 1
    assert (line["attempt"], line["last_status"], line["last_error"]) == (3, 204, None)


async def test_a_silent_receiver_costs_its_time_limit_and_no_more(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url("/silent"))
    other = await subscribe(acme, receiver.url("/prompt"))

    async def answer(message: Message) -> bytes:
        if message.path == "/silent":
            await asyncio.get_running_loop().create_future()
        return status(200)

    receiver.answer = answer
    for _ in range(40):
        await finish_one(engine)
    async with courier(engine, settings):
        started = time.monotonic()
        await all_settled(acme, other, "delivered")
        assert time.monotonic() - started < 5, "a silent receiver stood before a prompt one"

        async def tried() -> bool:
            return bool([x for x in await deliveries(acme, webhook) if x["last_error"]])

        await until(tried)
        lines = [item for item in await deliveries(acme, webhook) if item["last_error"]]
    assert {(line["last_status"], line["last_error"]) for line in lines} == {(None, "no answer within 1 s")}


async def test_a_refused_connection_ends_dead_and_then_disabled_until_it_is_enabled_again(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    webhook = await subscribe(acme, f"http://127.0.0.1:{port}/")
    async with courier(engine, settings):
        for _ in range(2):
            await finish_one(engine)
            log = await all_settled(acme, webhook, "dead")
        assert all(item["attempt"] == 3 and "Connect" in item["last_error"] for item in log)

        async def disabled() -> bool:
            return bool((await acme.get(f"/webhooks/{webhook['id']}")).json()["disabled_at"])

        await until(disabled)
        view = (await acme.get(f"/webhooks/{webhook['id']}")).json()
        assert (view["disabled_reason"], view["consecutive_failures"]) == ("failing", 2)
        await finish_one(engine)
        assert len(await deliveries(acme, webhook)) == 2
        again = f"/webhooks/{webhook['id']}/deliveries/{log[0]['id']}/redeliver"
        assert (await acme.post(again)).json()["error_code"] == "WEBHOOK_DISABLED"
        change = {"enabled": True, "url": receiver.url()}
        view = (await acme.patch(f"/webhooks/{webhook['id']}", json=change)).json()
        assert (view["disabled_at"], view["consecutive_failures"]) == (None, 0)
        assert (await acme.post(again)).status_code == 202
        (message,) = await receiver.until(1)
        assert message.id == log[0]["id"]


async def test_a_receiver_that_says_gone_is_disabled_at_once(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())

    async def gone(_message: Message) -> bytes:
        return status(410)

    receiver.answer = gone
    await finish_one(engine)
    async with courier(engine, settings):
        (line,) = await all_settled(acme, webhook, "dead")
    assert (line["attempt"], line["last_status"]) == (1, 410)
    assert (await acme.get(f"/webhooks/{webhook['id']}")).json()["disabled_reason"] == "gone"


async def test_a_redirect_is_a_failure_and_is_not_followed(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url("/first"))

    async def elsewhere(_message: Message) -> bytes:
        return status(307, f"Location: {receiver.url('/second')}")

    receiver.answer = elsewhere
    await finish_one(engine)
    async with courier(engine, settings):
        (line,) = await all_settled(acme, webhook, "dead")
    assert {m.path for m in receiver.messages} == {"/first"}
    assert line["last_error"] == "HTTP 307"


async def test_an_endless_or_stalled_answer_counts_by_its_status(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())

    async def flood(_message: Message) -> bytes:
        return status(200, body=b"x" * 2_000_000)

    async def stall(_message: Message) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfirst"

    async with courier(engine, settings):
        for count, answer in enumerate((flood, stall), start=1):
            receiver.answer = answer
            await finish_one(engine)
            log = await all_settled(acme, webhook, "delivered")
            assert [item["attempt"] for item in log] == [1] * count


async def test_garbage_instead_of_http_is_a_failure_like_any_other(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())

    async def garbage(_message: Message) -> bytes:
        return b"\x00\xff SSH-2.0 \x00\r\n\r\n"

    receiver.answer = garbage
    await finish_one(engine)
    async with courier(engine, settings):
        (line,) = await all_settled(acme, webhook, "dead")
    assert "ProtocolError" in line["last_error"]


async def test_a_courier_killed_in_mid_delivery_leaves_it_to_the_next_under_the_same_id(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver, tmp_path: Path
) -> None:
    webhook = await subscribe(acme, receiver.url())

    async def silence(_message: Message) -> bytes:
        await asyncio.get_running_loop().create_future()
        return b""

    receiver.answer = silence
    await finish_one(engine)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "quire", "worker", env=worker_environment(settings), cwd=tmp_path
    )
    try:
        await receiver.until(1)
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()

    async def answer(_message: Message) -> bytes:
        return status(200)

    receiver.answer = answer
    async with courier(engine, settings):
        await receiver.until(2)
        (line,) = await all_settled(acme, webhook, "delivered")
    assert len(set(receiver.ids)) == 1
    assert line["attempt"] == 2


def worker_environment(settings: Settings) -> dict[str, str]:
    return {
        **os.environ,
        "DATABASE_URL": settings.dsn,
        "QUIRE_CONFIG_DIR": str(settings.config_dir),
        "QUIRE_STORAGE_URL": settings.storage_url,
        "QUIRE_DATA_DIR": str(settings.data_dir),
        "QUIRE_SECRET_KEY": settings.secret_key.get_secret_value(),
        "QUIRE_ALLOW_PRIVATE_WEBHOOKS": "true",
    }


async def test_a_stopping_courier_hands_back_what_was_not_answered(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver, tmp_path: Path
) -> None:
    config = write_config(tmp_path, webhooks=QUICK.replace("timeout_seconds: 1", "timeout_seconds: 60"))
    patient = settings.model_copy(update={"config_dir": config})
    webhook = await subscribe(acme, receiver.url())

    async def silence(_message: Message) -> bytes:
        await asyncio.get_running_loop().create_future()
        return b""

    receiver.answer = silence
    await finish_one(engine)
    async with courier(engine, patient):
        await receiver.until(1)
    (line,) = await deliveries(acme, webhook)
    assert (line["state"], line["attempt"]) == ("pending", 0)
    assert await run_sql(engine, "SELECT leased_by, next_at <= now() FROM webhook_deliveries") == [
        (None, True)
    ]


@pytest.mark.parametrize("ticks", range(5))
async def test_a_courier_that_is_woken_while_it_is_stopped_still_stops(
    engine: Engine, settings: Settings, ticks: int
) -> None:
    async with asyncio.timeout(10):
        async with courier(engine, settings):
            await asyncio.sleep(0.1)  # past its first look, so that it rests
            engine.broker._wake_all()
            for _ in range(ticks):
                await asyncio.sleep(0)


# Secrets


async def test_after_a_rotation_both_secrets_verify_until_the_overlap_ends(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    verify = documented_verify()
    rotated = (await acme.post(f"/webhooks/{webhook['id']}/rotate-secret", json={"overlap_hours": 1})).json()
    assert rotated["secret"] != webhook["secret"]
    assert rotated["previous_until"] > rotated["rotated_at"]
    async with courier(engine, settings):
        await finish_one(engine)
        (message,) = await receiver.until(1)
        for secret in (webhook["secret"], rotated["secret"]):
            verify(message.headers, message.body, [secret])
        newest = (
            await acme.post(f"/webhooks/{webhook['id']}/rotate-secret", json={"overlap_hours": 0})
        ).json()
        await finish_one(engine)
        message = (await receiver.until(2))[1]
    verify(message.headers, message.body, [newest["secret"]])
    for old in (webhook["secret"], rotated["secret"]):
        with pytest.raises(ValueError, match="signature"):
            verify(message.headers, message.body, [old])


async def test_the_documented_check_refuses_what_was_changed_or_is_old(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    async with courier(engine, settings):
        await finish_one(engine)
        (message,) = await receiver.until(1)
    verify, secrets = documented_verify(), [webhook["secret"]]
    late = str(int(message.headers["webhook-timestamp"]) - 3600)
    for headers, body in (
        (message.headers, message.body + b" "),
        ({**message.headers, "webhook-id": str(uuid4())}, message.body),
        ({**message.headers, "webhook-timestamp": late}, message.body),
        ({**message.headers, "webhook-timestamp": "x"}, message.body),
        ({**message.headers, "webhook-signature": "v1,"}, message.body),
        ({**message.headers, "webhook-signature": "garbage"}, message.body),
        ({}, message.body),
    ):
        with pytest.raises(ValueError):
            verify(headers, body, secrets)


async def test_a_secret_is_shown_once_and_stored_sealed(
    engine: Engine, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    shown = [
        await acme.get("/webhooks"),
        await acme.get(f"/webhooks/{webhook['id']}"),
        await acme.patch(f"/webhooks/{webhook['id']}", json={"description": "x"}),
    ]
    assert all("secret" not in answer.json() and webhook["secret"] not in answer.text for answer in shown)
    ((stored,),) = await run_sql(engine, "SELECT row_to_json(s)::text FROM webhook_subscriptions s")
    assert webhook["secret"].removeprefix("whsec_") not in str(stored)


# The desk


async def test_a_test_message_shows_in_the_log_and_can_be_sent_again(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url(), event_types=["job.failed"])
    sent = await acme.post(f"/webhooks/{webhook['id']}/test")
    assert (sent.status_code, sent.json()["state"]) == (202, "pending")
    async with courier(engine, settings):
        await receiver.until(1)
        await all_settled(acme, webhook, "delivered")
        path = f"/webhooks/{webhook['id']}/deliveries/{sent.json()['id']}/redeliver"
        assert (await acme.post(path)).status_code == 202
        messages = await receiver.until(2)
    assert {m.id for m in messages} == {sent.json()["id"]}
    assert messages[0].event["type"] == "webhook.test"


async def test_other_tenants_and_plain_users_reach_nothing(
    acme: httpx.AsyncClient, database: Database, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    calls = [
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("POST", "/rotate-secret"),
        ("POST", "/test"),
        ("GET", "/deliveries"),
        ("POST", f"/deliveries/{uuid4()}/redeliver"),
    ]
    async with client_of(str(acme.base_url), await token(database, "globex")) as globex:
        for method, path in calls:
            body: dict[str, str] | None = {} if method == "PATCH" else None
            answer = await globex.request(method, f"/webhooks/{webhook['id']}{path}", json=body)
            assert (answer.status_code, answer.json()["error_code"]) == (404, "WEBHOOK_NOT_FOUND")
        assert (await globex.get("/webhooks")).json()["items"] == []
    async with client_of(str(acme.base_url), await token(database, "acme", "user")) as user:
        for method, path in (*calls, ("POST", "/../")):
            answer = await user.request(method, f"/webhooks/{webhook['id']}{path}")
            assert answer.status_code in (403, 404, 422)
        assert (await user.post("/webhooks", json={"url": receiver.url()})).status_code == 403
        assert (await user.get("/webhooks")).status_code == 403
    assert (await acme.get(f"/webhooks/{webhook['id']}")).status_code == 200


async def test_a_removed_webhook_takes_its_deliveries_along(
    engine: Engine, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    await finish_one(engine)
    assert (await acme.delete(f"/webhooks/{webhook['id']}")).status_code == 204
    assert (await acme.delete(f"/webhooks/{webhook['id']}")).status_code == 404
    assert await run_sql(engine, "SELECT count(*) FROM webhook_deliveries") == [(0,)]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"url": "x"},
        {"url": "https://hooks.example.com/", "event_types": []},
        {"url": "https://hooks.example.com/", "event_types": ["job.exploded"]},
        {"url": "https://hooks.example.com/", "kinds": ["*"]},
        {"url": "https://hooks.example.com/", "secret": "mine"},
    ],
)
async def test_a_bad_request_creates_nothing(
    engine: Engine, acme: httpx.AsyncClient, body: dict[str, object]
) -> None:
    assert (await acme.post("/webhooks", json=body)).status_code == 422
    assert await run_sql(engine, "SELECT count(*) FROM webhook_subscriptions") == [(0,)]


async def test_kinds_that_match_nothing_known_are_refused_with_those_that_exist(
    engine: Engine, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    for kinds in (["rendr.*"], ["render.*", "convert.xlm"]):
        refused = await acme.post("/webhooks", json={"url": receiver.url(), "kinds": kinds})
        assert (refused.status_code, refused.json()["error_code"]) == (422, "WEBHOOK_KIND_UNKNOWN")
        assert f"no kind matches {kinds[-1]!r}" in refused.json()["detail"]
        assert "convert.xml" in refused.json()["detail"]
        assert "render.pdf" in refused.json()["detail"]
    assert await run_sql(engine, "SELECT count(*) FROM webhook_subscriptions") == [(0,)]
    webhook = await subscribe(acme, receiver.url(), kinds=["render.*", "convert.xml"])
    changed = await acme.patch(f"/webhooks/{webhook['id']}", json={"kinds": ["rendr.*"]})
    assert (changed.status_code, changed.json()["error_code"]) == (422, "WEBHOOK_KIND_UNKNOWN")
    kept = (await acme.get(f"/webhooks/{webhook['id']}")).json()
    assert kept["kinds"] == ["render.*", "convert.xml"]


async def test_old_settled_deliveries_and_orphans_are_pruned_and_owed_ones_stay(
    engine: Engine, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    orphaned = await subscribe(acme, receiver.url())
    old, owed = await finish_one(engine), await finish_one(engine)
    await run_sql(engine, "DELETE FROM webhook_subscriptions WHERE id = $1", UUID(orphaned["id"]))
    await run_sql(engine, "UPDATE webhook_deliveries SET created_at = now() - interval '31 days'")
    await run_sql(engine, "UPDATE webhook_deliveries SET state = 'dead' WHERE job_id = $1", old)
    outbox = PostgresWebhookOutbox(engine.database)
    assert [await outbox.prune(30, 100), await outbox.prune(30, 100)] == [3, 0]
    left = await run_sql(engine, "SELECT job_id, subscription_id FROM webhook_deliveries")
    assert left == [(owed, UUID(webhook["id"]))]


async def test_without_a_secret_key_webhooks_are_refused_and_jobs_go_on(
    dsn: str, database: Database, tmp_path: Path, receiver: Receiver
) -> None:
    keyless = engine_settings(dsn, tmp_path, QUIRE_SECRET_KEY="", QUIRE_ALLOW_PRIVATE_WEBHOOKS=True)
    async with serving_api(keyless) as url, client_of(url, await token(database, "acme")) as client:
        answer = await client.post("/webhooks", json={"url": receiver.url()})
    assert (answer.status_code, answer.json()["error_code"]) == (503, "WEBHOOKS_UNAVAILABLE")
    async with open_engine(keyless, application="test-engine") as engine, courier(engine, keyless):
        await finish_one(engine)


async def test_a_secret_sealed_under_another_key_says_so_in_the_log(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    await finish_one(engine)
    other = settings.model_copy(update={"secret_key": SecretStr("another secret of enough bytes")})
    async with courier(engine, other):
        (line,) = await all_settled(acme, webhook, "dead")
    assert line["last_error"].startswith("WEBHOOK_SECRET_UNREADABLE")
    assert receiver.messages == []


async def test_the_key_changes_and_receivers_notice_nothing(
    engine: Engine, settings: Settings, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    """Both secrets of a rotated webhook go along. At the end the older key is gone."""
    webhook = await subscribe(acme, receiver.url())
    rotated = (await acme.post(f"/webhooks/{webhook['id']}/rotate-secret", json={"overlap_hours": 1})).json()
    new = SecretStr("another secret of enough bytes")
    both = settings.model_copy(update={"secret_key": new, "secret_key_accepted": settings.secret_key})
    alone = settings.model_copy(update={"secret_key": new})
    async with courier(engine, both):
        await finish_one(engine)
        await receiver.until(1)
    assert await resealed(both) == {"resealed": 1, "current": 0, "unreadable": 0}
    assert await resealed(both) == {"resealed": 0, "current": 1, "unreadable": 0}
    async with courier(engine, alone):
        await finish_one(engine)
        messages = await receiver.until(2)
    for message in messages:
        for secret in (webhook["secret"], rotated["secret"]):
            documented_verify()(message.headers, message.body, [secret])
    assert await resealed(settings) == {"resealed": 0, "current": 0, "unreadable": 1}


async def resealed(settings: Settings) -> object:
    """By the command, as an operator does."""
    said = await QuireCommand("", "", settings.data_dir)(
        "reseal",
        "--json",
        DATABASE_URL=settings.database_url.get_secret_value(),
        QUIRE_SECRET_KEY=settings.secret_key.get_secret_value(),
        QUIRE_SECRET_KEY_ACCEPTED=settings.secret_key_accepted.get_secret_value(),
    )
    assert said.code == (1 if said.json["unreadable"] else 0), said.err
    return said.json


# Where it does not send


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.2",
        "0.0.0.0",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "169.254.169.254",
        "10.1.2.3",
        "100.100.100.200",
    ],
)
async def test_a_private_address_is_refused_at_creation_and_at_delivery(
    host: str, receiver: Receiver
) -> None:
    sender = HttpWebhookSender(timeout_seconds=5, allow_private=False)
    url = receiver.url(host=host, scheme="https")
    try:
        with pytest.raises((WebhookAddressError, WebhookHostError)):
            await sender.check(url)
        reply = await sender.post(url, {}, b"{}")
    finally:
        await sender.close()
    assert reply.status is None
    assert reply.error is not None
    assert reply.error.startswith(("WEBHOOK_ADDRESS_REFUSED", "WEBHOOK_HOST_UNKNOWN"))
    assert receiver.connections == 0


async def test_a_name_that_changes_its_address_after_the_check_is_not_reached(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    """The name server says a public address first, and loopback ever after."""
    answers = iter([["8.8.8.8"]])

    def look_up(host: str, port: int, **_options: object) -> list[Any]:
        found = next(answers, ["8.8.8.8", "127.0.0.1"])
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    sender = HttpWebhookSender(timeout_seconds=5, allow_private=False)
    try:
        await sender.check(receiver.url(host="rebinding.example", scheme="https"))
        reply = await sender.post(receiver.url(host="rebinding.example", scheme="https"), {}, b"{}")
    finally:
        await sender.close()
    assert str(reply.error).startswith("WEBHOOK_ADDRESS_REFUSED")
    assert receiver.connections == 0


async def test_the_pinned_address_is_connected_to_with_the_names_host_header(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    lookups: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: str, port: int, *rest: Any, **options: Any) -> list[Any]:
        if host != "hooks.example.com":
            return real(host, port, *rest, **options)
        lookups.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    sender = HttpWebhookSender(timeout_seconds=5, allow_private=True)
    try:
        reply = await sender.post(receiver.url(host="hooks.example.com"), {}, b"{}")
    finally:
        await sender.close()
    assert reply.status == 200
    assert lookups == ["hooks.example.com"]
    assert receiver.messages[0].headers["host"] == f"hooks.example.com:{receiver.port}"


def server_identity(directory: Path, name: str) -> tuple[ssl.SSLContext, Path]:
    """A server for this name alone, and the certificate that a client must trust to believe it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = directory / f"{name}.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(certificate.public_bytes(Encoding.PEM) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context, path


@pytest.mark.parametrize(("served", "believed"), [("hooks.example.com", True), ("evil.example.com", False)])
async def test_tls_is_checked_against_the_name_though_the_address_is_pinned(
    served: str, believed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    context, trusted = server_identity(tmp_path, served)
    asked: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))

    def look_up(_host: str, port: int, **_options: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    sender = HttpWebhookSender(timeout_seconds=5, allow_private=True)
    async with receiving(context) as receiver:
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        try:
            url = receiver.url(host="hooks.example.com", scheme="https")
            reply = await sender.post(url, {}, b"{}")
        finally:
            await sender.close()
            monkeypatch.undo()
    assert asked == ["hooks.example.com"]
    assert (reply.status == 200) is believed
    assert believed or "certificate" in str(reply.error).lower()


async def test_the_api_refuses_a_private_url_unless_allowed(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    closed = engine_settings(dsn, tmp_path)
    async with serving_api(closed) as url, client_of(url, await token(database, "acme")) as client:
        refused = {
            "https://127.0.0.1/": "WEBHOOK_ADDRESS_REFUSED",
            "https://localhost/": "WEBHOOK_ADDRESS_REFUSED",
            "https://2130706433/": "WEBHOOK_URL_INVALID",
            "http://hooks.example.com/": "WEBHOOK_URL_INVALID",
            "https://user:word@hooks.example.com/": "WEBHOOK_URL_INVALID",
        }
        for target, code in refused.items():
            answer = await client.post("/webhooks", json={"url": target})
            assert (answer.status_code, answer.json()["error_code"]) == (422, code)
        assert (await client.get("/webhooks")).json()["items"] == []


async def test_a_url_that_became_private_is_refused_at_delivery(
    dsn: str, tmp_path: Path, engine: Engine, acme: httpx.AsyncClient, receiver: Receiver
) -> None:
    webhook = await subscribe(acme, receiver.url())
    config = write_config(tmp_path, webhooks=QUICK)
    closed = engine_settings(dsn, tmp_path, QUIRE_CONFIG_DIR=str(config))
    await finish_one(engine)
    async with courier(engine, closed):
        (line,) = await all_settled(acme, webhook, "dead")
    assert line["last_error"].startswith("WEBHOOK_URL_INVALID")
    assert receiver.connections == 0

"""The HTTP plumbing as a client meets it: real server, real sockets."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import structlog.testing
from fastapi import APIRouter
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel
from tests.support.api_server import api_settings, client_of, serving, serving_api

from quire.entrypoints.api import open_api
from quire.kernel import ConflictError, QuireError, UnauthenticatedError
from quire.runtime.auth import Principal, TokenGrant, TokenStore, ensure_admin_token
from quire.runtime.database import Database
from quire.runtime.http import CurrentPrincipal, StrictRoute, build_http_app
from quire.runtime.http.principal import ANYBODY, declared
from quire.runtime.settings import load_settings
from quire.runtime.telemetry import current_trace_id

OPEN_ROUTES = {
    ("GET", "/livez"),
    ("GET", "/readyz"),
    # Checks its own token: a platform operator's or QUIRE_METRICS_TOKEN.
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    # The signature in the URL is the right.
    ("GET", "/storage/{key:path}"),
    ("HEAD", "/storage/{key:path}"),
    ("PUT", "/storage/{key:path}"),
}


@pytest.fixture
async def admin_token(database: Database, tmp_path: Path) -> str:
    return await ensure_admin_token(database, tmp_path / "admin.token")


@pytest.fixture
async def admin(dsn: str, tmp_path: Path, admin_token: str) -> AsyncIterator[httpx.AsyncClient]:
    settings = api_settings(dsn, tmp_path, QUIRE_MAX_BODY_BYTES=2000, QUIRE_METRICS_TOKEN="scrape me")
    async with serving_api(settings) as url, client_of(url, admin_token) as client:
        yield client


@pytest.fixture
async def stranger(admin: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(str(admin.base_url)) as client:
        yield client


def assert_problem(answer: httpx.Response, status: int, code: str) -> dict[str, object]:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body: dict[str, object] = answer.json()
    assert body.keys() >= {"type", "title", "status", "error_code", "detail", "retryable", "trace_id"}
    assert (body["status"], body["error_code"]) == (status, code)
    assert body["trace_id"] == answer.headers["traceparent"].split("-")[1]
    return body


# Closed by default


async def test_every_route_but_the_known_open_ones_refuses_a_stranger(dsn: str, tmp_path: Path) -> None:
    async with (
        open_api(api_settings(dsn, tmp_path)) as app,
        serving(app) as url,
        client_of(url) as client,
    ):
        routes = [
            (method, context.path or "")
            for context in iter_route_contexts(app.routes)
            for method in context.methods or ()
        ]
        assert set(routes) >= OPEN_ROUTES | {("GET", "/me"), ("POST", "/tokens"), ("GET", "/tenants")}
        for method, path in routes:
            answer = await client.request(method, path)
            if (method, path) not in OPEN_ROUTES or path == "/metrics":
                assert answer.status_code == 401, (method, path)
            else:
                assert answer.status_code != 401, (method, path)


async def test_route_that_does_not_exist_is_no_news_for_a_stranger(stranger: httpx.AsyncClient) -> None:
    assert_problem(await stranger.get("/nowhere"), 401, "UNAUTHENTICATED")


async def test_router_with_a_lax_body_is_refused_at_assembly() -> None:
    router = APIRouter(dependencies=[declared(ANYBODY)])

    @router.post("/lax")
    async def lax(body: dict[str, int]) -> None: ...

    with pytest.raises(TypeError, match=r"/lax: make its router with APIRouter\(route_class=StrictRoute\)"):
        build_http_app(load_settings(), authenticator=Door(), routers=[router])


# Problems


async def test_unknown_route_and_method_are_problems(admin: httpx.AsyncClient) -> None:
    assert_problem(await admin.get("/nowhere"), 404, "ROUTE_NOT_FOUND")
    refused = await admin.delete("/me")
    assert_problem(refused, 405, "METHOD_NOT_ALLOWED")
    assert refused.headers["Allow"] == "GET"
    assert (await admin.put("/tokens")).headers["Allow"] == "GET, POST"


async def test_validation_names_the_place_and_never_the_value(admin: httpx.AsyncClient) -> None:
    wrong = {"name": "n", "user": "u", "role": "hunter2", "password": "s3cret"}
    answer = await admin.post("/tokens", json=wrong)
    body = assert_problem(answer, 422, "VALIDATION_FAILED")
    errors = body["errors"]
    assert isinstance(errors, list)
    assert {error["path"] for error in errors} == {"body.role", "body.password"}
    assert "hunter2" not in answer.text
    assert "s3cret" not in answer.text


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "JSON_INVALID"),
        (b'{"name": "\xff\xfe"}', "JSON_INVALID"),
        (b'{"name": NaN}', "JSON_INVALID"),
        (b'{"name": -Infinity}', "JSON_INVALID"),
        (b'{"name": 1e999}', "JSON_INVALID"),
        (b"[" * 1900, "JSON_INVALID"),
        (b"[" * 900 + b"]" * 900, "JSON_TOO_DEEP"),
        (b"[" * 65 + b"]" * 65, "JSON_TOO_DEEP"),
        (b'{"name": "a\\u0000b", "user": "u"}', "TEXT_NOT_STORABLE"),
        (b'{"name": "\\ud800", "user": "u"}', "TEXT_NOT_STORABLE"),
        (b"1" * 1900, "VALIDATION_FAILED"),
        (b"", "VALIDATION_FAILED"),
    ],
)
async def test_malformed_json_is_a_typed_refusal(admin: httpx.AsyncClient, body: bytes, code: str) -> None:
    answer = await admin.post("/tokens", content=body, headers={"Content-Type": "application/json"})
    if body == b"[" * 1900:
        assert answer.json()["error_code"] in {"JSON_INVALID", "JSON_TOO_DEEP"}
        return
    assert_problem(answer, 422, code)


async def test_key_given_twice_is_refused_by_every_route_that_reads_a_body(
    admin: httpx.AsyncClient,
) -> None:
    contract = (await admin.get("/openapi.json")).json()
    routes = [
        (method.upper(), re.sub(r"\{[^}]*\}", str(uuid4()), path))
        for path, item in contract["paths"].items()
        for method, operation in item.items()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    ]
    assert {path for _, path in routes} >= {"/jobs", "/jobs/batch", "/pdf/jobs", "/convert/jobs", "/tokens"}
    for method, path in routes:
        answer = await admin.request(
            method, path, content=b'{"a": 1, "a": 2}', headers={"Content-Type": "application/json"}
        )
        body = assert_problem(answer, 400, "JSON_DUPLICATE_KEY")
        assert "'a'" in str(body["detail"])


async def test_nul_in_a_url_is_a_typed_refusal(admin: httpx.AsyncClient) -> None:
    assert_problem(await admin.get("/tokens?cursor=%00"), 422, "TEXT_NOT_STORABLE")
    assert_problem(await admin.delete("/tokens/%00"), 422, "TEXT_NOT_STORABLE")


class Door:
    """Lets everybody in whose credential is `let me in`."""

    async def authenticate(self, credential: str) -> Principal:
        if credential != "let me in":
            raise UnauthenticatedError()
        return Principal(token_id="1", user="ada", tenant_id="default", role="user")


class Echo(BaseModel):
    text: str


def faulty_routes() -> APIRouter:
    router = APIRouter(route_class=StrictRoute, dependencies=[declared(ANYBODY)])

    @router.get("/crash")
    async def crash() -> None:
        raise RuntimeError("password=hunter2 in /etc/secret")

    @router.get("/own-fault")
    async def own_fault() -> None:
        raise QuireError("the detail is for the log", code="DISK_ODD")

    @router.get("/conflict")
    async def conflict() -> None:
        raise ConflictError("taken", code="KEY_TAKEN", extra={"job_id": "7", "status": 200})

    @router.get("/trace")
    async def trace(principal: CurrentPrincipal) -> Echo:
        return Echo(text=current_trace_id() or "")

    @router.post("/items/{item}")
    async def echo(item: str, body: Echo) -> Echo:
        return body

    return router


@pytest.fixture
async def faulty() -> AsyncIterator[httpx.AsyncClient]:
    app = build_http_app(load_settings(), authenticator=Door(), routers=[faulty_routes()])
    async with serving(app) as url, client_of(url, "let me in") as client:
        yield client


async def test_unforeseen_error_is_answered_bare(faulty: httpx.AsyncClient) -> None:
    with structlog.testing.capture_logs() as lines:
        answer = await faulty.get("/crash")
    assert_problem(answer, 500, "INTERNAL")
    assert ("request_failed", "RuntimeError") in {(line["event"], line.get("error_type")) for line in lines}
    assert "hunter2" not in answer.text
    assert "Runtime" not in answer.text


async def test_own_failure_keeps_its_detail_to_itself(faulty: httpx.AsyncClient) -> None:
    answer = await faulty.get("/own-fault")
    assert_problem(answer, 500, "DISK_ODD")
    assert "for the log" not in answer.text


async def test_extra_facts_ride_along_without_replacing_the_standard_ones(faulty: httpx.AsyncClient) -> None:
    body = assert_problem(await faulty.get("/conflict"), 409, "KEY_TAKEN")
    assert body["job_id"] == "7"


# Limits


async def test_declared_and_streamed_bodies_meet_the_same_limit(admin: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b" " * 100

    json_type = {"Content-Type": "application/json"}
    declared = await admin.post("/tokens", content=b" " * 2001, headers=json_type)
    streamed = await admin.post("/tokens", content=chunks(), headers=json_type)
    for answer in (declared, streamed):
        assert assert_problem(answer, 413, "PAYLOAD_TOO_LARGE")["limit_bytes"] == 2000


async def test_storage_uploads_have_no_body_limit_of_the_api(stranger: httpx.AsyncClient) -> None:
    answer = await stranger.put("/storage/some/key", content=b"x" * 5000)
    assert answer.status_code == 403, answer.text


async def test_rate_limit_is_told_and_kept_per_token(
    dsn: str, tmp_path: Path, admin_token: str, database: Database
) -> None:
    settings = api_settings(dsn, tmp_path, QUIRE_RATE_LIMIT_PER_MINUTE=3)
    async with serving_api(settings) as url, client_of(url, admin_token) as client:
        answers = [await client.get("/me") for _ in range(4)]
        _, other = await TokenStore(database).create(
            TokenGrant(tenant_id="default", user="u", name="n"), created_by="test"
        )
        unaffected = await client.get("/me", headers={"Authorization": f"Bearer {other.text}"})
    assert [answer.headers["RateLimit-Remaining"] for answer in answers] == ["2", "1", "0", "0"]
    assert_problem(answers[3], 429, "RATE_LIMITED")
    assert 0 < int(answers[3].headers["Retry-After"]) <= 20
    assert answers[0].headers["RateLimit-Limit"] == "3"
    assert unaffected.status_code == 200


# Context, headers, metrics


async def test_request_id_is_echoed_when_it_is_harmless(admin: httpx.AsyncClient) -> None:
    kept = await admin.get("/me", headers={"X-Request-Id": "order-42:a.b_c"})
    assert kept.headers["X-Request-Id"] == "order-42:a.b_c"
    for bad in ("two words", "x" * 129, "a\tb"):
        replaced = await admin.get("/me", headers={"X-Request-Id": bad})
        assert replaced.headers["X-Request-Id"] != bad


async def test_trace_of_the_caller_is_continued(faulty: httpx.AsyncClient) -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    answer = await faulty.get("/trace", headers={"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"})
    assert answer.json()["text"] == trace_id
    version, given, span_id, flags = answer.headers["traceparent"].split("-")
    assert (version, given, flags) == ("00", trace_id, "01")
    assert span_id != "b7ad6b7169203331"
    begun = await faulty.get("/trace", headers={"traceparent": "00-00000000000000000000000000000000-1-01"})
    assert begun.json()["text"] not in ("", "0" * 32)


async def test_concurrent_requests_keep_their_own_traces(faulty: httpx.AsyncClient) -> None:
    async def ask(number: int) -> bool:
        trace_id = f"{number:032x}"
        answer = await faulty.get("/trace", headers={"traceparent": f"00-{trace_id}-b7ad6b7169203331-01"})
        return bool(answer.json()["text"] == trace_id)

    assert all(await asyncio.gather(*(ask(number) for number in range(1, 30))))


async def test_answers_are_not_sniffed_cached_or_framed(admin: httpx.AsyncClient) -> None:
    for answer in (await admin.get("/me"), await admin.get("/nowhere")):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "server" not in answer.headers or "python" not in answer.headers["server"].lower()


async def test_metrics_know_templates_and_no_paths(
    faulty: httpx.AsyncClient, admin: httpx.AsyncClient
) -> None:
    await faulty.post("/items/very-private-name", json={"text": "x"})
    await admin.get("/invented/by/a/caller")
    text = (await admin.get("/metrics")).text
    assert 'quire_http_requests_total{method="POST",route="/items/{item}",status="200"}' in text
    assert 'route="unmatched",status="404"' in text
    assert "very-private-name" not in text
    assert "invented" not in text


async def test_metrics_need_an_operator_of_the_platform_or_their_own_token(
    admin: httpx.AsyncClient, stranger: httpx.AsyncClient, database: Database
) -> None:
    assert_problem(await stranger.get("/metrics"), 401, "UNAUTHENTICATED")
    scrape = await stranger.get("/metrics", headers={"Authorization": "Bearer scrape me"})
    assert scrape.status_code == 200
    assert (await admin.get("/metrics")).status_code == 200
    for role, scopes, status, code in (
        ("user", (), 403, "ROLE_REQUIRED"),
        ("admin", (), 403, "SCOPE_REQUIRED"),
        ("operator", ("platform",), 200, ""),
    ):
        grant = TokenGrant("default", "u", "n", role, frozenset(scopes))  # type: ignore[arg-type]
        _, made = await TokenStore(database).create(grant, created_by="test")
        answer = await stranger.get("/metrics", headers={"Authorization": f"Bearer {made.text}"})
        assert answer.status_code == status
        if code:
            assert_problem(answer, 403, code)


async def test_ready_follows_the_schema(stranger: httpx.AsyncClient, database: Database) -> None:
    assert (await stranger.get("/livez")).json() == {"status": "live"}
    assert (await stranger.get("/readyz")).json() == {"status": "ready"}
    await set_revision(database, "0000")
    behind = await stranger.get("/readyz")
    assert_problem(behind, 503, "SCHEMA_BEHIND")
    await set_revision(database, "9999")
    assert (await stranger.get("/readyz")).status_code == 200


async def set_revision(database: Database, revision: str) -> None:
    async with database.acquire() as connection:
        await connection.execute("UPDATE alembic_version SET version_num = $1", revision)


async def test_contract_is_open_and_says_what_needs_a_token(stranger: httpx.AsyncClient) -> None:
    contract = (await stranger.get("/openapi.json")).json()
    assert contract["openapi"].startswith("3.1")
    assert contract["security"] == [{"token": []}]
    assert contract["paths"]["/livez"]["get"]["security"] == []
    assert "security" not in contract["paths"]["/tokens"]["get"]
    assert all("default" in operation["responses"] for operation in operations(contract))
    assert "HTTPValidationError" not in json.dumps(contract)


def operations(contract: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for item in contract["paths"].values() for operation in item.values()]


async def test_no_documentation_page_reaches_out_for_assets(admin: httpx.AsyncClient) -> None:
    for path in ("/docs", "/redoc"):
        assert_problem(await admin.get(path), 404, "ROUTE_NOT_FOUND")


async def test_cors_is_off_unless_configured(admin: httpx.AsyncClient) -> None:
    answer = await admin.get("/me", headers={"Origin": "https://shop.example"})
    assert "access-control-allow-origin" not in answer.headers
    settings = load_settings(QUIRE_CORS_ORIGINS="https://shop.example")
    app = build_http_app(settings, authenticator=Door(), routers=[faulty_routes()])
    preflight = {"Origin": "https://shop.example", "Access-Control-Request-Method": "GET"}
    async with serving(app) as url, client_of(url) as browser:
        asked = await browser.options("/trace", headers=preflight)
        assert asked.headers["access-control-allow-origin"] == "https://shop.example"
        refused = await browser.get("/trace", headers={"Origin": "https://shop.example"})
        assert refused.headers["access-control-allow-origin"] == "https://shop.example"
        other = await browser.options("/trace", headers=preflight | {"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers

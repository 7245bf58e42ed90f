"""Tokens, tenants and principals on a real database, most of it through the served API."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import time
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from tests.support.api_server import api_settings, client_of, serving_api
from typer.testing import CliRunner

from quire.entrypoints.cli import tenant as tenant_command
from quire.entrypoints.cli import token as token_command
from quire.entrypoints.migrate import migrate
from quire.kernel import ForbiddenError, InvalidInputError, NotFoundError, UnauthenticatedError
from quire.runtime.auth import (
    PLATFORM_SCOPE,
    ROLES,
    TenantStore,
    TokenAuthenticator,
    TokenGrant,
    TokenStore,
    UsageRecorder,
    ensure_admin_token,
)
from quire.runtime.auth.authenticator import STALE_SECONDS
from quire.runtime.auth.token import mint_token
from quire.runtime.database import Database, DatabaseUnavailableError
from quire.runtime.embedded_postgres import EmbeddedPostgres


@pytest.fixture
async def admin_token(database: Database, tmp_path: Path) -> str:
    return await ensure_admin_token(database, tmp_path / "admin.token")


@pytest.fixture
async def api(dsn: str, tmp_path: Path) -> AsyncIterator[str]:
    async with serving_api(api_settings(dsn, tmp_path)) as url:
        yield url


@pytest.fixture
async def admin(api: str, admin_token: str) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(api, admin_token) as client:
        yield client


@pytest.fixture
def authenticator(database: Database) -> TokenAuthenticator:
    return TokenAuthenticator(database, UsageRecorder(TokenStore(database)))


async def make_token(database: Database, **grant: object) -> str:
    values = {"tenant_id": "default", "user": "ada", "name": "test", **grant}
    _, parts = await TokenStore(database).create(TokenGrant(**values), created_by="test")  # type: ignore[arg-type]
    return parts.text


# The first admin token


async def test_first_admin_token_is_private_on_disk_and_kept(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "new" / "admin.token"
    token = await ensure_admin_token(database, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() == token
    assert await ensure_admin_token(database, path) == token


async def test_first_admin_token_manages_the_platform(
    database: Database, authenticator: TokenAuthenticator, admin_token: str
) -> None:
    principal = await authenticator.authenticate(admin_token)
    assert (principal.tenant_id, principal.role, principal.scopes) == ("default", "admin", {PLATFORM_SCOPE})
    assert principal.id == "default/admin"


@pytest.mark.parametrize("damage", ["revoked", "expired", "missing", "garbage"])
async def test_admin_token_that_no_longer_works_is_replaced(
    database: Database, tmp_path: Path, authenticator: TokenAuthenticator, damage: str
) -> None:
    path = tmp_path / "admin.token"
    before = await ensure_admin_token(database, path)
    if damage == "missing":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(b"\xff\x00 not a token")
    else:
        column = "revoked_at" if damage == "revoked" else "expires_at"
        async with database.acquire() as connection:
            await connection.execute(f"UPDATE tokens SET {column} = now() - interval '1 second'")
    after = await ensure_admin_token(database, path)
    assert after != before
    assert (await authenticator.authenticate(after)).role == "admin"


async def test_starters_at_the_same_time_share_one_admin_token(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "admin.token"
    tokens = await asyncio.gather(*(ensure_admin_token(database, path) for _ in range(8)))
    assert len(set(tokens)) == 1
    assert len(await TokenStore(database).page(None)) == 1


# What a token is


async def test_database_never_holds_a_secret(database: Database, admin_token: str) -> None:
    async with database.acquire() as connection:
        row = str(await connection.fetchval("SELECT tokens::text FROM tokens"))
    assert admin_token.split("_")[2] not in row
    assert admin_token.split("_")[1] in row


async def test_unknown_prefix_and_wrong_secret_look_alike(
    database: Database, authenticator: TokenAuthenticator, admin_token: str
) -> None:
    other = mint_token()
    wrong_secret = f"qr_{admin_token.split('_')[1]}_{other.secret}"
    for text in (other.text, wrong_secret):
        with pytest.raises(UnauthenticatedError) as caught:
            await authenticator.authenticate(text)
        assert (caught.value.code, caught.value.detail) == ("TOKEN_INVALID", "the token is not valid")


async def test_wrong_secret_of_a_remembered_token_is_refused(
    authenticator: TokenAuthenticator, admin_token: str
) -> None:
    await authenticator.authenticate(admin_token)
    flipped = admin_token[:-1] + ("a" if admin_token[-1] != "a" else "b")
    with pytest.raises(UnauthenticatedError):
        await authenticator.authenticate(flipped)


async def test_token_expires_while_it_is_remembered(
    database: Database, admin_token: str, authenticator: TokenAuthenticator
) -> None:
    token = await make_token(database, expires_at=datetime.now(UTC) + timedelta(seconds=0.8))
    await authenticator.authenticate(token)
    error = await refused_within(authenticator, token, seconds=2.5)
    assert error.code == "TOKEN_EXPIRED"


async def test_revocation_works_within_five_seconds(
    database: Database, admin_token: str, authenticator: TokenAuthenticator
) -> None:
    token = await make_token(database)
    principal = await authenticator.authenticate(token)
    await TokenStore(database).revoke(uuid.UUID(principal.token_id), "default")
    error = await refused_within(authenticator, token, seconds=STALE_SECONDS)
    assert error.code == "TOKEN_REVOKED"


async def refused_within(
    authenticator: TokenAuthenticator, token: str, *, seconds: float
) -> UnauthenticatedError:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            await authenticator.authenticate(token)
        except UnauthenticatedError as error:
            return error
        await asyncio.sleep(0.05)
    raise AssertionError("still accepted")


async def test_remembered_token_outlives_the_database_for_seconds_only(
    dsn: str, database: Database, admin_token: str
) -> None:
    mortal = await Database.open(dsn)
    authenticator = TokenAuthenticator(mortal, UsageRecorder(TokenStore(database)))
    await authenticator.authenticate(admin_token)
    asked_at = time.monotonic()
    await mortal.close()
    assert (await authenticator.authenticate(admin_token)).user == "admin"
    with pytest.raises(DatabaseUnavailableError):
        await authenticator.authenticate(mint_token().text)
    while time.monotonic() < asked_at + STALE_SECONDS + 1:
        try:
            await authenticator.authenticate(admin_token)
        except DatabaseUnavailableError:
            break
        await asyncio.sleep(0.1)
    else:
        raise AssertionError("a token was trusted for too long without a database")


async def test_use_is_recorded_off_the_path_and_once_a_minute(database: Database, admin_token: str) -> None:
    usage = UsageRecorder(TokenStore(database))
    authenticator = TokenAuthenticator(database, usage)
    await authenticator.authenticate(admin_token)
    assert (await TokenStore(database).page(None))[0].last_used_at is None
    await usage.flush()
    first = (await TokenStore(database).page(None))[0].last_used_at
    assert first is not None
    await authenticator.authenticate(admin_token)
    await usage.flush()
    assert (await TokenStore(database).page(None))[0].last_used_at == first


# Over HTTP


async def test_me_names_the_caller(admin: httpx.AsyncClient) -> None:
    me = (await admin.get("/me")).json()
    assert (me["id"], me["role"], me["scopes"]) == ("default/admin", "admin", ["platform"])


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, "UNAUTHENTICATED"),
        ("", "UNAUTHENTICATED"),
        ("Basic YTpi", "UNAUTHENTICATED"),
        ("Bearer", "UNAUTHENTICATED"),
        ("Bearer qr_short", "TOKEN_INVALID"),
        ("Bearer " + "x" * 4000, "TOKEN_INVALID"),
        ("Bearer qr_00000000_" + "a" * 43, "TOKEN_INVALID"),
    ],
)
async def test_no_valid_token_is_401_with_a_challenge(api: str, header: str | None, code: str) -> None:
    async with client_of(api) as client:
        answer = await client.get("/me", headers={"Authorization": header} if header is not None else {})
    assert answer.status_code == 401
    assert answer.json()["error_code"] == code
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")


async def test_created_token_is_shown_once_and_works_until_revoked(
    admin: httpx.AsyncClient, api: str
) -> None:
    made = (await admin.post("/tokens", json={"name": "ci", "user": "bob", "role": "operator"})).json()
    async with client_of(api, made["token"]) as bob:
        assert (await bob.get("/me")).json()["id"] == "default/bob"
        listed = (await admin.get("/tokens")).text
        assert made["id"] in listed
        assert made["token"] not in listed
        assert (await admin.delete(f"/tokens/{made['id']}")).status_code == 204
        assert (await admin.delete(f"/tokens/{made['id']}")).status_code == 204
        deadline = time.monotonic() + STALE_SECONDS
        while (answer := await bob.get("/me")).status_code == 200:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
    assert answer.json()["error_code"] == "TOKEN_REVOKED"


async def test_users_and_operators_cannot_touch_tokens(
    api: str, database: Database, admin_token: str
) -> None:
    for role in ("user", "operator"):
        async with client_of(api, await make_token(database, role=role)) as client:
            for answer in (
                await client.get("/tokens"),
                await client.post("/tokens", json={"name": "n", "user": "u"}),
                await client.delete(f"/tokens/{uuid.uuid4()}"),
            ):
                assert answer.status_code == 403
                assert answer.json()["error_code"] == "ROLE_REQUIRED"


async def test_admin_of_one_tenant_reaches_no_other(
    admin: httpx.AsyncClient, api: str, database: Database, admin_token: str
) -> None:
    for tenant in ("acme", "umbrella"):
        assert (await admin.post("/tenants", json={"id": tenant})).status_code == 201
    foreign = (await admin.post("/tokens", json={"name": "n", "user": "u", "tenant_id": "umbrella"})).json()
    token = await make_token(database, tenant_id="acme", role="admin")
    async with client_of(api, token) as acme:
        assert {item["tenant_id"] for item in (await acme.get("/tokens")).json()["items"]} == {"acme"}
        assert (await acme.get("/tokens", params={"tenant_id": "umbrella"})).status_code == 403
        assert (await acme.delete(f"/tokens/{foreign['id']}")).json()["error_code"] == "TOKEN_NOT_FOUND"
        crossing = {"name": "n", "user": "u", "tenant_id": "umbrella"}
        assert (await acme.post("/tokens", json=crossing)).status_code == 403
        rising = {"name": "n", "user": "u", "role": "admin", "scopes": ["platform"]}
        assert (await acme.post("/tokens", json=rising)).json()["error_code"] == "SCOPE_REQUIRED"
        assert (await acme.get("/tenants")).json()["error_code"] == "SCOPE_REQUIRED"
    async with client_of(api, foreign["token"]) as untouched:
        assert (await untouched.get("/me")).status_code == 200


async def test_disabled_tenant_is_refused_and_enabled_again(
    admin: httpx.AsyncClient, api: str, database: Database
) -> None:
    await admin.post("/tenants", json={"id": "acme", "name": "Acme"})
    token = await make_token(database, tenant_id="acme")
    assert (await admin.post("/tenants/acme/disable")).json()["disabled_at"] is not None
    async with client_of(api, token) as acme:
        refused = await acme.get("/me")
        assert (refused.status_code, refused.json()["error_code"]) == (403, "TENANT_DISABLED")
        assert (await admin.post("/tenants/acme/enable")).json()["disabled_at"] is None
        assert (await acme.get("/me")).status_code == 200


async def test_tenant_mistakes_are_typed(admin: httpx.AsyncClient) -> None:
    assert (await admin.post("/tenants", json={"id": "default"})).json()["error_code"] == "TENANT_EXISTS"
    assert (await admin.post("/tenants", json={"id": "Not Valid"})).status_code == 422
    assert (await admin.post("/tenants/nobody/disable")).json()["error_code"] == "TENANT_NOT_FOUND"
    assert (await admin.post("/tenants/default/disable")).json()["error_code"] == "TENANT_IS_OWN"
    unknown = {"name": "n", "user": "u", "tenant_id": "nobody"}
    assert (await admin.post("/tokens", json=unknown)).json()["error_code"] == "TENANT_NOT_FOUND"


@pytest.mark.parametrize("expires_at", ["2001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"])
async def test_expiry_past_or_too_far_is_refused(admin: httpx.AsyncClient, expires_at: str) -> None:
    answer = await admin.post("/tokens", json={"name": "n", "user": "u", "expires_at": expires_at})
    assert answer.json()["error_code"] == "EXPIRY_INVALID"


async def test_pages_hold_every_token_once(admin: httpx.AsyncClient, database: Database) -> None:
    for number in range(5):
        await make_token(database, name=f"token {number}")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await admin.get("/tokens", params=params)).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 6
    assert seen == sorted(seen, reverse=True)


async def test_foreign_cursor_is_refused(admin: httpx.AsyncClient) -> None:
    for cursor in ("x", "e30", "WyJhIl0", "WzFd"):
        answer = await admin.get("/tokens", params={"cursor": cursor})
        assert answer.json()["error_code"] == "CURSOR_INVALID"


async def test_api_without_its_database_says_so(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "postgres")
    await asyncio.to_thread(server.start)
    try:
        await migrate(server.dsn)
        async with serving_api(api_settings(server.dsn, tmp_path)) as url, client_of(url) as client:
            await asyncio.to_thread(server.stop)
            token = {"Authorization": f"Bearer {mint_token().text}"}
            answers = [await client.get("/me", headers=token), await client.get("/readyz")]
            assert (await client.get("/livez")).status_code == 200
    finally:
        await asyncio.to_thread(server.stop)
    for answer in answers:
        assert (answer.status_code, answer.json()["error_code"]) == (503, "DATABASE_UNAVAILABLE")
        assert answer.json()["retryable"] is True
        assert int(answer.headers["Retry-After"]) > 0


# On the command line


async def command(app: object, dsn: str, *arguments: str) -> tuple[int, str]:
    environment = {**os.environ, "DATABASE_URL": dsn}
    result = await asyncio.to_thread(CliRunner().invoke, app, arguments, env=environment)  # type: ignore[arg-type]
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


async def test_command_line_makes_lists_and_revokes_tokens(
    dsn: str, database: Database, admin_token: str, authenticator: TokenAuthenticator
) -> None:
    code, out = await command(
        token_command.app, dsn, "create", "grace", "--role", "operator", "--days", "3", "--json"
    )
    made = json.loads(out)
    assert code == 0
    assert (await authenticator.authenticate(made["token"])).role == "operator"
    _, plain = await command(token_command.app, dsn, "create", "grace")
    assert (await authenticator.authenticate(plain.strip())).user == "grace"
    _, listed = await command(token_command.app, dsn, "list", "--json")
    assert made["id"] in {row["id"] for row in json.loads(listed)}
    assert made["token"] not in listed
    await command(token_command.app, dsn, "revoke", made["id"])
    fresh = TokenAuthenticator(database, UsageRecorder(TokenStore(database)))
    with pytest.raises(UnauthenticatedError):
        await fresh.authenticate(made["token"])


async def test_command_line_manages_tenants(dsn: str, database: Database, admin_token: str) -> None:
    await command(tenant_command.app, dsn, "create", "acme", "--name", "Acme Ltd")
    token = await make_token(database, tenant_id="acme")
    await command(tenant_command.app, dsn, "disable", "acme")
    authenticator = TokenAuthenticator(database, UsageRecorder(TokenStore(database)))
    with pytest.raises(ForbiddenError):
        await authenticator.authenticate(token)
    await command(tenant_command.app, dsn, "enable", "acme")
    assert (await authenticator.authenticate(token)).tenant_id == "acme"
    _, listed = await command(tenant_command.app, dsn, "list", "--json")
    assert [row["id"] for row in json.loads(listed)] == ["acme", "default"]
    with pytest.raises(NotFoundError):
        await command(tenant_command.app, dsn, "disable", "nobody")


async def test_command_line_refuses_what_does_not_fit(dsn: str, admin_token: str) -> None:
    with pytest.raises(InvalidInputError) as user:
        await command(token_command.app, dsn, "create", "u" * 201)
    with pytest.raises(InvalidInputError) as tenant:
        await command(tenant_command.app, dsn, "create", "Not Valid")
    with pytest.raises(InvalidInputError) as name:
        await command(tenant_command.app, dsn, "create", "fine", "--name", "n" * 201)
    codes = [caught.value.code for caught in (user, tenant, name)]
    assert codes == ["GRANT_INVALID", "TENANT_ID_INVALID", "TENANT_NAME_INVALID"]


async def test_scope_or_role_that_does_not_exist_is_refused_with_those_that_do(
    dsn: str, database: Database, admin: httpx.AsyncClient
) -> None:
    before = len(await TokenStore(database).page(None))
    with pytest.raises(InvalidInputError) as caught:
        await command(token_command.app, dsn, "create", "x", "--scope", "platfrom")
    assert caught.value.code == "SCOPE_UNKNOWN"
    assert caught.value.detail == "no scope 'platfrom'; there are: platform, raw_html"
    answer = await admin.post("/tokens", json={"name": "n", "user": "u", "scopes": ["raw-html"]})
    assert (answer.status_code, answer.json()["error_code"]) == (422, "SCOPE_UNKNOWN")
    assert "there are: platform, raw_html" in answer.json()["detail"]
    wrong_role = await admin.post("/tokens", json={"name": "n", "user": "u", "role": "amdin"})
    assert (wrong_role.status_code, wrong_role.json()["error_code"]) == (422, "VALIDATION_FAILED")
    assert all(role in wrong_role.json()["detail"] for role in ROLES)
    code, _ = await command(token_command.app, dsn, "create", "x", "--role", "amdin")
    assert code == 2
    assert len(await TokenStore(database).page(None)) == before


async def test_tenants_page_by_id(database: Database) -> None:
    tenants = TenantStore(database)
    for name in ("b", "a", "c"):
        await tenants.create(name)
    assert [tenant.id for tenant in await tenants.page(after="a", limit=2)] == ["b", "c"]

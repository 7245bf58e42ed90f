"""What each route asks of its caller: declared by the use case behind it, told in the API guide, and enforced."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from tests.support.api_server import api_settings, client_of, serving

from quire.entrypoints.api import open_api
from quire.entrypoints.gateway import assemble_gateway, gateway_desk
from quire.runtime.auth import Principal, Role, TokenGrant, TokenStore, ensure_admin_token
from quire.runtime.database import Database
from quire.runtime.http import StrictRoute, build_http_app
from quire.runtime.http.openapi.route_rights import OPEN, RouteRight, rights_of
from quire.runtime.settings import load_settings

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "api.md"
ROW = re.compile(r"\| `(GET|HEAD|POST|PUT|PATCH|DELETE) (/\S*)` \| (\S+) \| ?(\S*) ?\|")

# Reached without a token. A route is added here only on purpose.
OPEN_ROUTES = {
    ("GET", "/livez"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    # The signature in the URL is the right.
    ("GET", "/storage/{key}"),
    ("HEAD", "/storage/{key}"),
    ("PUT", "/storage/{key}"),
}
CLUSTER_WIDE = {
    ("GET", "/queues"),
    ("POST", "/queues/{name}/pause"),
    ("POST", "/queues/{name}/resume"),
    ("GET", "/workers"),
    ("GET", "/integrations"),
    ("GET", "/metrics"),
    ("POST", "/tenants"),
    ("GET", "/tenants"),
    ("POST", "/tenants/{tenant_id}/disable"),
    ("POST", "/tenants/{tenant_id}/enable"),
}


@pytest.fixture
async def app(dsn: str, database: Database, tmp_path: Path) -> AsyncIterator[FastAPI]:
    await ensure_admin_token(database, tmp_path / "admin.token")
    async with open_api(api_settings(dsn, tmp_path)) as app:
        yield app


async def token(database: Database, role: Role, *scopes: str) -> str:
    grant = TokenGrant("default", f"a {role}", "test", role, frozenset(scopes))
    return (await TokenStore(database).create(grant, created_by="test"))[1].text


def told_rights() -> dict[tuple[str, str], tuple[str, str]]:
    """The guide's table: method and path, role (or `open`), scope."""
    rows = ROW.findall(GUIDE.read_text(encoding="utf-8"))
    return {(method, path): (role.strip("`"), scope.strip("`")) for method, path, role, scope in rows}


async def test_every_route_is_in_the_guides_table_with_the_role_and_scope_it_asks_for(app: FastAPI) -> None:
    rights = {(right.method, right.path): right for right in rights_of(app)}
    assert {key for key, right in rights.items() if right.requirement is None and not right.is_open} == set()
    declared = {key: (right.role or OPEN, right.scope or "") for key, right in rights.items()}
    assert declared == told_rights()


async def test_open_routes_are_the_known_ones_and_cluster_wide_ones_ask_for_platform(app: FastAPI) -> None:
    rights = list(rights_of(app))
    assert {(right.method, right.path) for right in rights if right.is_open} == OPEN_ROUTES
    assert {(right.method, right.path) for right in rights if right.scope == "platform"} == CLUSTER_WIDE


async def test_each_route_refuses_who_lacks_its_role_or_scope_before_it_looks_at_the_request(
    app: FastAPI, database: Database
) -> None:
    async with serving(app) as url:
        for role, scopes in (("user", ()), ("operator", ()), ("admin", ()), ("operator", ("platform",))):
            async with client_of(url, await token(database, role, *scopes)) as client:  # type: ignore[arg-type]
                for right in rights_of(app):
                    await _meets(client, right, Principal("", "", "", role, frozenset(scopes)))  # type: ignore[arg-type]


async def _meets(client: httpx.AsyncClient, right: RouteRight, caller: Principal) -> None:
    if right.requirement is None or right.path == "/me":
        return
    path = re.sub(r"\{[^}]*\}", str(uuid4()), right.path)
    answer = await client.request(right.method, path)
    code = answer.json().get("error_code", "") if answer.status_code == 403 else ""
    if not caller.has_role(right.requirement.role):
        assert (answer.status_code, code) == (403, "ROLE_REQUIRED"), (caller.role, right)
    elif right.scope and not caller.has_scope(right.scope):
        assert (answer.status_code, code) == (403, "SCOPE_REQUIRED"), (caller.role, right)
    else:
        assert code not in ("ROLE_REQUIRED", "SCOPE_REQUIRED"), (caller.role, right, answer.text)


async def test_operator_of_a_tenant_cannot_pause_a_queue_that_all_tenants_share(
    app: FastAPI, database: Database
) -> None:
    async with serving(app) as url, client_of(url, await token(database, "operator")) as operator:
        for name in ("pause", "resume"):
            refused = await operator.post(f"/queues/default/{name}")
            assert (refused.status_code, refused.json()["error_code"]) == (403, "SCOPE_REQUIRED")
            assert "scope platform" in refused.json()["detail"]
        assert (
            (await operator.get("/jobs")).status_code == (await operator.get("/problems")).status_code == 200
        )
    async with database.acquire() as connection:
        assert await connection.fetchval("SELECT count(*) FROM queues WHERE paused_at IS NOT NULL") == 0


def test_route_that_says_nothing_about_its_callers_is_refused_at_assembly() -> None:
    router = APIRouter(route_class=StrictRoute)

    @router.get("/silent")
    async def silent() -> None: ...

    class Nobody:
        async def authenticate(self, credential: str) -> Principal:
            raise AssertionError("nobody is asked")

    with pytest.raises(TypeError, match="/silent"):
        build_http_app(load_settings(), authenticator=Nobody(), routers=[router])


def test_gateway_asks_for_its_one_token_everywhere_but_for_its_health() -> None:
    settings = load_settings(QUIRE_GATEWAY_TOKEN="the gateway's")
    rights = rights_of(assemble_gateway(settings, gateway_desk(settings)))
    found = {(right.method, right.path): right.role or OPEN for right in rights}
    assert found == {
        ("POST", "/process"): "user",
        ("GET", "/mappings"): "user",
        ("GET", "/metrics"): "user",
        ("GET", "/health"): OPEN,
        ("GET", "/ready"): OPEN,
        ("GET", "/openapi.json"): OPEN,
    }

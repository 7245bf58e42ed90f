"""The served API with workers beside it, and callers of every role."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.support.api_server import client_of, serving_api
from tests.support.engine_fixture import engine_settings, working

from quire.runtime.auth import Role, TenantStore, TokenGrant, TokenStore, ensure_admin_token
from quire.runtime.database import Database


@dataclass
class Office:
    dsn: str
    directory: Path
    database: Database
    url: str
    admin: httpx.AsyncClient
    admin_token: str
    stack: contextlib.AsyncExitStack

    async def caller(
        self, user: str, role: Role = "user", tenant: str = "default", *scopes: str
    ) -> httpx.AsyncClient:
        """A client with a token of its own; the tenant is made when it is new."""
        with contextlib.suppress(Exception):
            await TenantStore(self.database).create(tenant, tenant)
        grant = TokenGrant(tenant, user, "test", role, frozenset(scopes), None)
        _, parts = await TokenStore(self.database).create(grant, created_by="test")
        return await self.stack.enter_async_context(client_of(self.url, parts.text))

    async def start_worker(self, **overrides: object) -> None:
        await self.stack.enter_async_context(working(self.dsn, self.directory, **overrides))


@contextlib.asynccontextmanager
async def open_office(
    dsn: str, database: Database, directory: Path, **overrides: object
) -> AsyncIterator[Office]:
    token = await ensure_admin_token(database, directory / "admin.token")
    settings = engine_settings(dsn, directory, **overrides)
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving_api(settings))
        admin = await stack.enter_async_context(client_of(url, token))
        yield Office(dsn, directory, database, url, admin, token, stack)


async def submit(client: httpx.AsyncClient, kind: str = "jobs.noop", **fields: Any) -> str:
    answer = await client.post("/jobs", json={"kind": kind, "unique": False, **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["job_id"])


async def ended(client: httpx.AsyncClient, job_id: str) -> dict[str, Any]:
    """The job as it ended, by one long poll."""
    answer = await client.get(f"/jobs/{job_id}", params={"wait": 15})
    assert answer.status_code == 200, answer.text
    job: dict[str, Any] = answer.json()
    assert job["state"] in {"succeeded", "failed", "cancelled", "expired"}, job["state"]
    return job


async def dead_letter(client: httpx.AsyncClient, code: str = "TERMINAL", **fields: Any) -> dict[str, Any]:
    job = await ended(client, await submit(client, "jobs.fail", payload={"code": code}, **fields))
    assert job["state"] == "failed"
    return job


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["error_code"] == code, body
    return body

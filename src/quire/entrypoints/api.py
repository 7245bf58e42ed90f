"""Wires the API process: database, storage, tokens and every router, into one HTTP application."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI

from quire.entrypoints.dsn import find_dsn
from quire.entrypoints.migrate import head_revision
from quire.runtime.auth import TenantStore, TokenAuthenticator, TokenStore, UsageRecorder
from quire.runtime.database import Database
from quire.runtime.http import BodyLimitRule, build_http_app, health_routes, tenant_routes, token_routes
from quire.runtime.settings import Settings
from quire.runtime.storage import StorageBackend, UrlSigner, open_storage, storage_routes, url_signer
from quire.runtime.telemetry import DatabaseReadiness

BATCH_BODY_FACTOR = 16


@dataclass(frozen=True)
class ApiParts:
    """What the routes work with; each part is opened and closed by `open_api`."""

    database: Database
    storage: StorageBackend
    signer: UrlSigner
    usage: UsageRecorder


@asynccontextmanager
async def open_api(settings: Settings, public_url: str = "") -> AsyncIterator[FastAPI]:
    """The application with everything behind it open. `public_url` is for a port known only at start."""
    async with AsyncExitStack() as stack:
        database = await Database.open(
            find_dsn(settings),
            pool_max=settings.database_pool_max,
            statement_timeout_seconds=settings.statement_timeout_seconds,
            application="quire-api",
        )
        stack.push_async_callback(database.close)
        signer = url_signer(settings, public_url)
        storage = await stack.enter_async_context(open_storage(settings, signer=signer))
        await storage.ensure_ready()
        usage = UsageRecorder(TokenStore(database))
        await stack.enter_async_context(_running(usage))
        yield assemble_api(settings, ApiParts(database, storage, signer, usage))


def assemble_api(settings: Settings, parts: ApiParts) -> FastAPI:
    authenticator = TokenAuthenticator(parts.database, parts.usage)
    ready = DatabaseReadiness(parts.database, head_revision())
    return build_http_app(
        settings,
        authenticator=authenticator,
        routers=[token_routes(TokenStore(parts.database)), tenant_routes(TenantStore(parts.database))],
        open_routers=[
            health_routes(ready, authenticator, settings.metrics_token.get_secret_value()),
            storage_routes(parts.storage, parts.signer),
        ],
        body_limits=_body_limits(settings),
    )


def _body_limits(settings: Settings) -> list[BodyLimitRule]:
    return [
        BodyLimitRule("POST", re.compile("/jobs/batch"), BATCH_BODY_FACTOR * settings.max_body_bytes),
        # The signature holds the exact size of the upload.
        BodyLimitRule("PUT", re.compile("/storage/.*", re.DOTALL), None),
    ]


@asynccontextmanager
async def _running(usage: UsageRecorder) -> AsyncIterator[None]:
    stop = asyncio.Event()
    loop = asyncio.create_task(usage.run(stop))
    try:
        yield
    finally:
        stop.set()
        await loop

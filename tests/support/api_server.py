"""The real application on a real server and socket, in the test's own loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import uvicorn
from fastapi import FastAPI

from quire.entrypoints.api import open_api
from quire.runtime.settings import Settings, load_settings


def api_settings(dsn: str, directory: Path, **overrides: object) -> Settings:
    return load_settings(
        **{
            "DATABASE_URL": dsn,
            "QUIRE_STORAGE_URL": f"file:{directory / 'storage'}",
            "QUIRE_DIAGNOSTIC_KINDS": True,
            "QUIRE_DATA_DIR": str(directory),
            "QUIRE_SECRET_KEY": "a secret that only tests know",
            **overrides,
        }
    )


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


@contextlib.asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    """The socket listens before the server runs, so the first request needs no waiting."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none", timeout_graceful_shutdown=5)
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()


@contextlib.asynccontextmanager
async def serving_api(settings: Settings) -> AsyncIterator[str]:
    async with open_api(settings) as app, serving(app) as url:
        yield url


def client_of(url: str, token: str | None = None) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.AsyncClient(base_url=url, headers=headers, timeout=20, trust_env=False)

"""The storages that the contract runs over: a disk behind a real HTTP server, and a bucket of a real S3
server.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from tests.support.s3_server import S3Server

from quire.kernel import new_uuid7
from quire.runtime.http.exception_handlers import install_exception_handlers
from quire.runtime.storage import (
    LocalDiskStorage,
    StorageBackend,
    UrlSigner,
    parse_location,
)
from quire.runtime.storage.location import S3Location
from quire.runtime.storage.routes import storage_routes
from quire.runtime.storage.s3 import S3Storage

SECRET = "a secret of the storage tests alone"
DEADLINE_SECONDS = 20


@contextlib.asynccontextmanager
async def disk_storage(root: Path) -> AsyncIterator[LocalDiskStorage]:
    """With the routes that its signed URLs lead to."""
    listener = socket.create_server(("127.0.0.1", 0))
    signer = UrlSigner(SECRET, f"http://127.0.0.1:{listener.getsockname()[1]}")
    storage = LocalDiskStorage(root, signer)
    await storage.ensure_ready(create=True)
    app = FastAPI()
    install_exception_handlers(app)
    app.include_router(storage_routes(storage, signer))
    # The socket listens already, so a client that comes early waits in its backlog.
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield storage
    finally:
        server.should_exit = True
        await asyncio.wait_for(task, DEADLINE_SECONDS)
        listener.close()


@contextlib.asynccontextmanager
async def s3_storage(
    server: S3Server, bucket: str = "quire-contract", **environment: str
) -> AsyncIterator[S3Storage]:
    location = parse_location(server.url(bucket, prefix=str(new_uuid7())))
    assert isinstance(location, S3Location)
    storage = await S3Storage.open(location, server.environment() | environment)
    try:
        yield storage
    finally:
        await storage.close()


@pytest.fixture(params=["disk", "s3"])
async def storage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StorageBackend]:
    if request.param == "disk":
        async with disk_storage(tmp_path / "storage") as disk:
            yield disk
        return
    async with s3_storage(request.getfixturevalue("s3_server")) as s3:
        await s3.ensure_ready(create=True)
        yield s3

"""`quire api` as a process: it says where it listens, serves, and stops cleanly on SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from tests.integration.api_server import client_of

from quire.runtime.auth import TokenStore, ensure_admin_token
from quire.runtime.database import Database


def environment(dsn: str, directory: Path) -> dict[str, str]:
    return {
        **os.environ,
        "DATABASE_URL": dsn,
        "QUIRE_STORAGE_URL": f"file:{directory / 'storage'}",
        "QUIRE_SECRET_KEY": "a secret that only tests know",
    }


@contextlib.asynccontextmanager
async def quire(*arguments: str, env: dict[str, str], cwd: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "quire", *arguments, env=env, cwd=cwd, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def line_with(process: asyncio.subprocess.Process, event: str) -> dict[str, str]:
    assert process.stderr is not None
    async with asyncio.timeout(20):
        async for line in process.stderr:
            found: dict[str, str] = json.loads(line)
            if found["event"] == event:
                return found
    raise AssertionError(f"the process ended without {event}")


async def test_api_process_serves_until_sigterm_and_closes_everything(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    token = await ensure_admin_token(database, tmp_path / "admin.token")
    async with quire("api", "--port", "0", env=environment(dsn, tmp_path), cwd=tmp_path) as process:
        url = (await line_with(process, "api_listening"))["url"]
        async with client_of(url, token) as client:
            assert (await client.get("/me")).json()["id"] == "default/admin"
            process.send_signal(signal.SIGTERM)
            await line_with(process, "api_stopped")
        assert await asyncio.wait_for(process.wait(), 10) == 0
    # Written on the way out, which shows that closing was not cut short.
    assert (await TokenStore(database).page(None))[0].last_used_at is not None


async def test_taken_port_is_a_plain_refusal(dsn: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with quire("api", "--port", port, env=environment(dsn, tmp_path), cwd=tmp_path) as process:
            _, err = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 1
    assert b"ADDRESS_UNUSABLE" in err
    assert b"Traceback" not in err

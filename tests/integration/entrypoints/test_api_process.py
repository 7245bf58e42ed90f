"""`quire api` as a process: it says where it listens, serves, and stops cleanly on SIGTERM."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fastapi import FastAPI
from tests.support.api_process import running_quire
from tests.support.api_server import client_of

from quire.entrypoints.cli.api import server_config
from quire.kernel import RateLimitedError
from quire.runtime.auth import TokenStore, ensure_admin_token
from quire.runtime.database import Database
from quire.runtime.http.problem_json import (
    DEFAULT_RETRY_AFTER_SECONDS,
    LONGEST_RETRY_AFTER_SECONDS,
    problem_response,
)


async def test_api_process_serves_until_sigterm_and_closes_everything(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    token = await ensure_admin_token(database, tmp_path / "admin.token")
    async with running_quire("api", "--port", "0", dsn=dsn, directory=tmp_path) as quire:
        url = (await quire.line_with("api_listening"))["url"]
        async with client_of(url, token) as client:
            assert (await client.get("/me")).json()["id"] == "default/admin"
            quire.process.send_signal(signal.SIGTERM)
            await quire.line_with("api_stopped")
        assert await asyncio.wait_for(quire.process.wait(), 10) == 0
    # Written on the way out, which shows that closing was not cut short.
    assert (await TokenStore(database).page(None))[0].last_used_at is not None


async def test_idle_connection_outlives_the_retry_after_of_an_outage(dsn: str, tmp_path: Path) -> None:
    """A client that comes back after `Retry-After: 5` must not meet a connection that closes under its request."""
    homes = [tmp_path / name for name in ("api", "gateway")]
    for home in homes:
        home.mkdir()
    async with (
        running_quire("api", "--port", "0", dsn=dsn, directory=homes[0]) as api,
        running_quire("gateway", "--port", "0", dsn=dsn, directory=homes[1]) as gateway,
    ):
        urls = (
            (await api.line_with("api_listening"))["url"] + "/livez",
            (await gateway.line_with("gateway_listening"))["url"] + "/health",
        )
        await asyncio.gather(
            *(_serves_after_a_pause(url, DEFAULT_RETRY_AFTER_SECONDS[503] + 1) for url in urls)
        )


async def _serves_after_a_pause(url: str, seconds: float) -> None:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    request = f"GET {place.path} HTTP/1.1\r\nHost: quire\r\n\r\n".encode()
    try:
        for last in (False, True):
            writer.write(request)
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1])  # type: ignore[index]
            await reader.readexactly(length)
            if not last:
                # A server that closes the connection ends this read early, with nothing.
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(reader.read(1), seconds)
    finally:
        writer.close()


def test_connections_are_kept_longer_than_the_longest_retry_after() -> None:
    assert server_config(FastAPI()).timeout_keep_alive > LONGEST_RETRY_AFTER_SECONDS
    late = problem_response(RateLimitedError("later", extra={"retry_after_seconds": 86_400}))
    assert late.headers["Retry-After"] == str(LONGEST_RETRY_AFTER_SECONDS)


async def test_taken_port_is_a_plain_refusal(dsn: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with running_quire("api", "--port", port, dsn=dsn, directory=tmp_path) as quire:
            assert await asyncio.wait_for(quire.process.wait(), 30) == 1
    said = quire.log.read_text()
    assert "ADDRESS_UNUSABLE" in said
    assert "Traceback" not in said

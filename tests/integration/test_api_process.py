"""`quire api` as a process: it says where it listens, serves, and stops cleanly on SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

from tests.integration.api_process import running_quire
from tests.integration.api_server import client_of

from quire.runtime.auth import TokenStore, ensure_admin_token
from quire.runtime.database import Database


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


async def test_taken_port_is_a_plain_refusal(dsn: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        async with running_quire("api", "--port", port, dsn=dsn, directory=tmp_path) as quire:
            assert await asyncio.wait_for(quire.process.wait(), 30) == 1
    said = quire.log.read_text()
    assert "ADDRESS_UNUSABLE" in said
    assert "Traceback" not in said

"""A TCP proxy in front of Postgres that loses an acknowledgement: the server has committed, and nobody hears of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

# The server is done with a statement, and no transaction is open: an autocommit statement has committed.
IDLE = b"Z\x00\x00\x00\x05I"


@dataclass
class SeveringProxy:
    dsn: str
    """Of Postgres as seen through the proxy."""
    needle: bytes = b""
    """Once a client has sent this, its connection ends when the server has answered, and the answer is dropped."""
    severed: int = 0
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(
        self, host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        server_reader, server_writer = await asyncio.open_connection(host, port)
        self._writers += [writer, server_writer]
        marked = asyncio.Event()
        with contextlib.suppress(OSError):
            async with asyncio.TaskGroup() as both:
                both.create_task(self._to_server(reader, server_writer, marked))
                both.create_task(self._to_client(server_reader, writer, marked))

    async def _to_server(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, marked: asyncio.Event
    ) -> None:
        while chunk := await reader.read(65536):
            if self.needle and self.needle in chunk:
                marked.set()
            writer.write(chunk)
        writer.close()

    async def _to_client(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, marked: asyncio.Event
    ) -> None:
        while chunk := await reader.read(65536):
            if not marked.is_set():
                writer.write(chunk)
            elif chunk.endswith(IDLE):
                self.needle, self.severed = b"", self.severed + 1
                break
        writer.transport.abort()

    def close(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@contextlib.asynccontextmanager
async def severing_proxy(dsn: str) -> AsyncIterator[SeveringProxy]:
    parts = urlsplit(dsn)
    assert parts.hostname is not None
    assert parts.port is not None
    host, port = parts.hostname, parts.port
    proxy = SeveringProxy("")
    server = await asyncio.start_server(
        lambda reader, writer: proxy.serve(host, port, reader, writer), "127.0.0.1"
    )
    own_port = server.sockets[0].getsockname()[1]
    proxy.dsn = dsn.replace(f"{parts.hostname}:{parts.port}", f"127.0.0.1:{own_port}")
    try:
        yield proxy
    finally:
        server.close()
        proxy.close()
        await server.wait_closed()

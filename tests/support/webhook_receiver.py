"""A receiver of webhooks on a real socket: keeps every message, answers what the test tells it to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

DEADLINE_SECONDS = 20.0


@dataclass(frozen=True)
class Message:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value


# Bytes of the whole answer; an empty one closes the connection without a word.
Answer = Callable[[Message], Awaitable[bytes]]


def status(code: int, *headers: str, body: bytes = b"") -> bytes:
    lines = [f"HTTP/1.1 {code} X", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


async def ok(_message: Message) -> bytes:
    return status(200)


@dataclass
class Receiver:
    port: int = 0
    answer: Answer = ok
    messages: list[Message] = field(default_factory=list)
    connections: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def url(self, path: str = "/hook", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    @property
    def ids(self) -> list[str]:
        return [message.id for message in self.messages]

    async def until(self, count: int, seconds: float = DEADLINE_SECONDS) -> list[Message]:
        async with self.changed:
            await asyncio.wait_for(
                self.changed.wait_for(lambda: len(self.messages) >= count), timeout=seconds
            )
        return self.messages

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            while (message := await _read(reader)) is not None:
                async with self.changed:
                    self.messages.append(message)
                    self.changed.notify_all()
                reply = await self.answer(message)
                if not reply:
                    return
                writer.write(reply)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Message | None:
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Message(first.split(" ")[1], headers, body)


@contextlib.asynccontextmanager
async def receiving(tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for writer in receiver.writers:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

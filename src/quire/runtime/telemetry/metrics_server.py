"""/metrics, /livez and /readyz of a process without an HTTP API, on loopback. Serves GET only, one request a
connection, with a limit on its size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from quire.kernel import QuireError
from quire.runtime.settings import Settings
from quire.runtime.telemetry.metrics import render_metrics

REQUEST_BYTES = 8192
REQUEST_SECONDS = 5.0

Readiness = Callable[[], Awaitable[None]]

log = structlog.get_logger(__name__)


class MetricsServer:
    def __init__(self, server: asyncio.Server) -> None:
        self._server = server
        self.port: int = server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        await self._server.wait_closed()


async def start_metrics_server(settings: Settings, ready: Readiness | None = None) -> MetricsServer | None:
    """None when QUIRE_METRICS_PORT is -1. `ready` raises a QuireError while the process cannot work."""
    if settings.metrics_port < 0:
        return None

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                writer.write(await _answer(await _read_target(reader), ready))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            log.debug("metrics_request_dropped")
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", settings.metrics_port, limit=REQUEST_BYTES)
    return MetricsServer(server)


async def _read_target(reader: asyncio.StreamReader) -> str:
    """The path of a GET request, or nothing."""
    head = await reader.readuntil(b"\r\n\r\n")
    method, _, rest = head.split(b"\r\n", 1)[0].decode("latin-1").partition(" ")
    return rest.split(" ", 1)[0].partition("?")[0] if method == "GET" else ""


async def _answer(target: str, ready: Readiness | None) -> bytes:
    if target == "/metrics":
        return _response("200 OK", *render_metrics())
    if target == "/livez":
        return _response("200 OK", b"live\n")
    if target == "/readyz":
        return await _readiness(ready)
    return _response("404 Not Found", b"not found\n")


async def _readiness(ready: Readiness | None) -> bytes:
    try:
        if ready is not None:
            await ready()
    except QuireError as error:
        return _response("503 Service Unavailable", f"not ready: {error.code}\n".encode())
    return _response("200 OK", b"ready\n")


def _response(status: str, body: bytes, content_type: str = "text/plain; charset=utf-8") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body

"""`quire api`: serves the HTTP API until a signal. The first finishes what runs, a second does not."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import FrameType
from typing import Annotated

import structlog
import typer
import uvicorn
import uvloop
from fastapi import FastAPI

from quire.entrypoints.api import open_api
from quire.kernel import QuireError
from quire.runtime.garbage import settle_garbage
from quire.runtime.http.problem_json import LONGEST_RETRY_AFTER_SECONDS
from quire.runtime.settings import Settings, load_settings
from quire.runtime.telemetry import configure_telemetry

# Less than a supervisor's patience: a long poll that is cut here still ends with a closed pool.
DRAIN_SECONDS = 10
# A connection that closes at the moment a `Retry-After` brings its client back is reset under the client's request.
KEEP_ALIVE_SECONDS = LONGEST_RETRY_AFTER_SECONDS + 15

log = structlog.get_logger(__name__)


def api(
    host: Annotated[str | None, typer.Option(help="Address to bind. Default: QUIRE_HOST.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to bind; 0 takes a free one. Default: QUIRE_PORT.")
    ] = None,
) -> None:
    """Serve the HTTP API."""
    given = {"QUIRE_HOST": host, "QUIRE_PORT": port}
    settings = load_settings(**{name: value for name, value in given.items() if value is not None})
    exporter = configure_telemetry(settings, process="api")
    try:
        uvloop.run(serve_api(settings))
    finally:
        if exporter is not None:
            exporter.close()


async def serve_api(settings: Settings) -> None:
    with bind(settings.host, settings.port) as listener:
        url = url_of(settings.host, listener)
        async with open_api(settings, url if not settings.public_url else "") as app:
            settle_garbage()
            log.info("api_listening", url=url)
            await GracefulServer(server_config(app), app.state.release_waiters).serve(sockets=[listener])
    log.info("api_stopped")


class AddressError(QuireError):
    code = "ADDRESS_UNUSABLE"
    title = "The address cannot be bound"


class GracefulServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Uvicorn would raise the signal again after serving, which ends the process before it has closed."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._on_stop()


def server_config(app: FastAPI) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # Nothing here asks where a caller is or by which scheme it came.
        proxy_headers=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )


def bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise AddressError(f"{host}:{port}: {error.strerror or error}") from None


def url_of(host: str, listener: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"

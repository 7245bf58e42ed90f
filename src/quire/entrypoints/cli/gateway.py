"""`quire gateway`: serves PDF to XML until a signal. The first finishes what runs, a second does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import structlog
import typer
import uvloop

from quire.entrypoints.cli.api import GracefulServer, bind, server_config, url_of
from quire.entrypoints.gateway import open_gateway
from quire.entrypoints.home import ready_file, write_private
from quire.runtime.settings import Settings, load_settings
from quire.runtime.telemetry import configure_telemetry

log = structlog.get_logger(__name__)


def gateway(
    host: Annotated[str | None, typer.Option(help="Address to bind. Default: QUIRE_GATEWAY_HOST.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to bind; 0 takes a free one. Default: QUIRE_GATEWAY_PORT.")
    ] = None,
    ready_path: Annotated[
        Path | None, typer.Option("--ready-file", help="Gets the URL as JSON once ready; removed at the end.")
    ] = None,
) -> None:
    """Serve the gateway that turns PDF into XML."""
    given = {"QUIRE_GATEWAY_HOST": host, "QUIRE_GATEWAY_PORT": port}
    settings = load_settings(**{name: value for name, value in given.items() if value is not None})
    exporter = configure_telemetry(settings, process="gateway")
    try:
        uvloop.run(serve_gateway(settings, ready_path))
    finally:
        if exporter is not None:
            exporter.close()


async def serve_gateway(settings: Settings, ready_path: Path | None = None) -> None:
    with bind(settings.gateway_host, settings.gateway_port) as listener, ready_file(ready_path) as ready:
        url = url_of(settings.gateway_host, listener)
        async with open_gateway(settings) as app:
            if ready is not None:
                write_private(ready, json.dumps({"url": url}) + "\n")
            log.info("gateway_listening", url=url)
            await GracefulServer(server_config(app), lambda: None).serve(sockets=[listener])
    log.info("gateway_stopped")

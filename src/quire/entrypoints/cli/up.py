"""`quire up`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quire.entrypoints.home import Home
from quire.entrypoints.installation import Installation
from quire.entrypoints.listen_address import ListenAddress
from quire.runtime.settings import load_settings


def up(
    data_dir: Annotated[Path | None, typer.Option(help="Directory of everything Quire keeps.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of the API; 0 takes a free one.")
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(help="Gets the URL and token as JSON once ready; removed at the end.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of worker processes.")] = 1,
) -> None:
    """Start everything on this machine and keep it running until Ctrl-C or SIGTERM.

    Without DATABASE_URL a private Postgres runs inside the data directory.
    Exits with 1 and PORT_TAKEN, ALREADY_RUNNING or START_FAILED when it cannot start.
    """
    settings = load_settings()
    home = Home(data_dir or settings.data_dir)
    with home.locked():
        address = ListenAddress.choose(settings.host, settings.port if port is None else port)
        Installation(home, settings, address, workers).run(ready_file)

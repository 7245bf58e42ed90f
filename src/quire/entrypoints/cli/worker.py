"""`quire worker`: runs jobs until a signal. The first finishes what runs, a second hands it back at once."""

from __future__ import annotations

from typing import Annotated

import typer
import uvloop

from quire.entrypoints.departure import run_and_leave
from quire.entrypoints.worker import run_worker
from quire.runtime.priority import step_back
from quire.runtime.settings import load_settings
from quire.runtime.telemetry import configure_telemetry


def worker(
    queues: Annotated[
        str | None,
        typer.Option(help="Queues to serve, names or patterns: 'ocr_*,default'. Default: WORKER_QUEUES."),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Jobs to run at once. Default: WORKER_CONCURRENCY.")
    ] = None,
) -> None:
    """Run jobs until a signal."""
    given = {"WORKER_QUEUES": queues, "WORKER_CONCURRENCY": concurrency}
    settings = load_settings(**{name: value for name, value in given.items() if value is not None})
    step_back(settings.worker_niceness)
    exporter = configure_telemetry(settings, process="worker")
    try:
        uvloop.run(run_and_leave(run_worker(settings)))
    finally:
        if exporter is not None:
            exporter.close()

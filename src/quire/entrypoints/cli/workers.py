"""`quire workers`, over the HTTP API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from quire.entrypoints.api_client import ApiClient
from quire.entrypoints.cli.listing import AsJson, show_json
from quire.entrypoints.cli.moments import between
from quire.entrypoints.cli.roster import Roster
from quire.entrypoints.cli.sheet import put
from quire.entrypoints.cli.with_api import with_api


@with_api
def workers(api: ApiClient, as_json: AsJson = False) -> None:
    """List the workers that showed themselves within the last second."""
    live = api.get("/workers")["items"]
    show_json(live) if as_json else _show(live)


def _show(live: Sequence[dict[str, Any]]) -> None:
    columns = ("worker", "host", "pid", "jobs", "up", "state", "queues")
    table = Roster(
        *columns, right=("pid", "jobs", "up"), spare=("host", "queues", "up"), cut=("host", "queues")
    )
    for worker in live:
        table.add_row(
            worker["id"][:8],
            worker["host"],
            str(worker["pid"]),
            f"{worker['running_jobs']}/{worker['concurrency']}",
            between(worker["started_at"], None),
            Text("claiming", style="green") if worker["claiming"] else Text("stopping", style="yellow"),
            " ".join(worker["queues"]),
        )
    none = Text("No live worker: start one with `quire worker`.", style="bold red")
    put(table if live else none)

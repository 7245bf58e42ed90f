"""`quire queues list|pause|resume`, over the HTTP API."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from quire.entrypoints.api_client import ApiClient
from quire.entrypoints.cli.listing import AsJson, show_json
from quire.entrypoints.cli.moments import span
from quire.entrypoints.cli.roster import Roster
from quire.entrypoints.cli.sheet import put
from quire.entrypoints.cli.with_api import with_api

app = typer.Typer(help="Queues.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="Name of the queue.")]


@app.command("list")
@with_api
def list_queues(api: ApiClient, as_json: AsJson = False) -> None:
    """List queues with what they hold and who serves them."""
    queues = api.get("/queues")["items"]
    if as_json:
        show_json(queues)
        return
    unwell = {item["name"] for item in api.get("/integrations")["items"] if item["breaker"] != "closed"}
    _show(queues, unwell)


@app.command("pause")
@with_api
def pause(api: ApiClient, name: Name, as_json: AsJson = False) -> None:
    """Claim nothing more from a queue; what runs goes on."""
    _changed(api.post(f"/queues/{name}/pause"), as_json)


@app.command("resume")
@with_api
def resume(api: ApiClient, name: Name, as_json: AsJson = False) -> None:
    """Claim from a paused queue again."""
    _changed(api.post(f"/queues/{name}/resume"), as_json)


def _changed(queue: dict[str, Any], as_json: bool) -> None:
    show_json(queue) if as_json else _show([queue])


def _show(queues: Sequence[dict[str, Any]], unwell: Collection[str] = ()) -> None:
    """`unwell`: the integrations whose jobs are held."""
    counts = ("waiting", "scheduled", "queued", "running")
    numbers = (*counts, "oldest", "workers", "limit")
    table = Roster(
        *("queue", *numbers, "class", "note"),
        right=numbers,
        spare=("class", "limit", "scheduled", "waiting", "oldest"),
    )
    for queue in queues:
        table.add_row(
            queue["name"],
            *(str(queue[name] or "·") for name in counts),
            span(queue["oldest_queued_seconds"]) if queue["oldest_queued_seconds"] else "",
            Text(str(queue["live_workers"]), style="green" if queue["live_workers"] else "bold red"),
            span(queue["limits"]["hard_limit_seconds"]),
            queue["size_class"],
            Text(_note(queue, unwell), style="bold yellow"),
        )
    put(table)


def _note(queue: dict[str, Any], unwell: Collection[str]) -> str:
    paused = f"paused by {queue['paused_by']}" if queue["paused_at"] else ""
    held = f"held: no answer from {queue['integration']}" if queue["integration"] in unwell else ""
    unserved = "no worker" if (queue["queued"] or queue["waiting"]) and not queue["live_workers"] else ""
    return ", ".join(filter(None, (paused, held, unserved)))

"""`quire schedules list|show|next|pause|resume|run-now`, over the HTTP API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from quire.entrypoints.api_client import ApiClient
from quire.entrypoints.cli.listing import AsJson, show_json
from quire.entrypoints.cli.moments import ago, span
from quire.entrypoints.cli.roster import Roster
from quire.entrypoints.cli.sheet import facts, put
from quire.entrypoints.cli.with_api import with_api

app = typer.Typer(help="Work that comes round by the clock.", no_args_is_help=True)

Schedule = dict[str, Any]
Name = Annotated[str, typer.Argument(help="Name of the schedule.")]


@app.command("list")
@with_api
def list_schedules(api: ApiClient, as_json: AsJson = False) -> None:
    """List schedules with their last and next ticks."""
    schedules = api.get("/schedules")["items"]
    if as_json:
        show_json(schedules)
    elif not schedules:
        typer.echo("no schedules; config/schedules.yaml is where they go", err=True)
    else:
        _show(schedules)


@app.command("show")
@with_api
def show(api: ApiClient, name: Name, as_json: AsJson = False) -> None:
    """Show a schedule with its newest ticks."""
    schedule = api.get(f"/schedules/{name}")
    show_json(schedule) if as_json else _show_one(schedule)


@app.command("next")
@with_api
def next_(
    api: ApiClient,
    name: Name,
    count: Annotated[int, typer.Option(min=1, max=100, help="How many.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Show the next ticks of a schedule, by its own clock and in UTC."""
    ticks = api.get(f"/schedules/{name}/next", count=count)["items"]
    if as_json:
        show_json(ticks)
        return
    table = Roster("local", "utc")
    for tick in ticks:
        table.add_row(tick["local"], tick["at"])
    put(table)


@app.command("pause")
@with_api
def pause(api: ApiClient, name: Name, as_json: AsJson = False) -> None:
    """Pause a schedule. Jobs that it enqueued go on."""
    _changed(api.post(f"/schedules/{name}/pause"), as_json)


@app.command("resume")
@with_api
def resume(api: ApiClient, name: Name, as_json: AsJson = False) -> None:
    """Resume a paused schedule. What it missed meanwhile is not made up for."""
    _changed(api.post(f"/schedules/{name}/resume"), as_json)


@app.command("run-now")
@with_api
def run_now(api: ApiClient, name: Name, as_json: AsJson = False) -> None:
    """Enqueue one more job of a schedule at once; prints its id."""
    tick = api.post(f"/schedules/{name}/run")
    show_json(tick) if as_json else typer.echo(tick["job_id"])


def _changed(schedule: Schedule, as_json: bool) -> None:
    show_json(schedule) if as_json else _show([schedule])


def _show(schedules: Sequence[Schedule]) -> None:
    table = Roster("schedule", "kind", "when", "next", "last", "job", "note", spare=("kind", "when", "last"))
    for schedule in schedules:
        table.add_row(
            schedule["name"],
            schedule["kind"],
            _when(schedule),
            schedule["next_at"] or "never",
            ago(schedule["last_tick_at"]) if schedule["last_tick_at"] else "",
            schedule["last_job_state"] or "",
            Text(_note(schedule), style="bold yellow"),
        )
    put(table)


def _show_one(schedule: Schedule) -> None:
    names = ("name", "tenant_id", "kind", "missed", "overlap")
    rows = [(name, str(schedule[name])) for name in names]
    rows += [("when", _when(schedule)), ("next", schedule["next_at"] or "never"), ("note", _note(schedule))]
    put(facts(row for row in rows if row[1]))
    if not schedule["ticks"]:
        typer.echo("no ticks yet")
        return
    table = Roster("tick", "outcome", "job", "error")
    for tick in schedule["ticks"]:
        table.add_row(tick["at"], tick["outcome"], tick["job_id"] or "", tick["error_code"] or "")
    put(table)


def _when(schedule: Schedule) -> str:
    if schedule["cron"] is None:
        return f"every {span(schedule['every_seconds'])}"
    return f"{schedule['cron']} ({schedule['zone']})"


def _note(schedule: Schedule) -> str:
    paused = "paused" if schedule["paused_at"] else ""
    return ", ".join(filter(None, (paused, schedule["last_error_code"])))

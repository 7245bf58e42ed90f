"""`quire demo`: proves on a running Quire what it promises, and shows it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from quire.entrypoints.api_client import ApiClient, ApiUnreachableError
from quire.entrypoints.api_location import ApiLocation
from quire.entrypoints.cli.listing import AsJson, show_json
from quire.entrypoints.cli.moments import span
from quire.entrypoints.cli.sheet import plain_console, sheet
from quire.entrypoints.cli.with_api import DataDir, Token, Url, locate
from quire.entrypoints.demo import SCENARIOS, Result, play
from quire.entrypoints.demo.private_quire import private_quire
from quire.runtime.settings import SettingsError


def demo(url: Url = None, token: Token = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Do one job of each kind for real and show the results. Exits with 1 when anything is not as promised.

    Without a running Quire it starts a private one and removes it afterwards. A running one without
    QUIRE_DIAGNOSTIC_KINDS shows documents only.
    """
    with _running(url, token, data_dir) as location, ApiClient(location.url, location.token) as api:
        results = _play_all(api, quiet=as_json)
    if as_json:
        show_json([_row(result) for result in results])
    else:
        print(_verdict(results))
    if any(result.failed for result in results):
        raise typer.Exit(1)


def _verdict(results: Sequence[Result]) -> str:
    failed = sum(result.failed for result in results)
    left_out = sum(result.left_out for result in results)
    told = f"demo: {failed} of {len(results)} failed"
    if not failed:
        told = f"demo: {len(results) - left_out} passed" if left_out else f"demo: all {len(results)} passed"
    without = "this Quire takes no diagnostic kinds (start it with QUIRE_DIAGNOSTIC_KINDS=true)"
    return f"{told}, {left_out} left out: {without}" if left_out else told


@contextlib.contextmanager
def _running(url: str | None, token: str | None, data_dir: Path | None) -> Iterator[ApiLocation]:
    location = _found(url, token, data_dir)
    if location is not None:
        _say(f"Using the Quire at {location.url}")
        yield location
        return
    _say("No Quire runs here: starting a private one …")
    with private_quire() as private:
        yield private


def _found(url: str | None, token: str | None, data_dir: Path | None) -> ApiLocation | None:
    """A named one has to be there; one that the data directory tells of may be gone."""
    try:
        location = locate(url, token, data_dir)
        with ApiClient(location.url, location.token) as api:
            api.get("/readyz")
    except (SettingsError, ApiUnreachableError):
        if url:
            raise
        return None
    return location


def _play_all(api: ApiClient, *, quiet: bool) -> list[Result]:
    results: list[Result] = []
    console = plain_console(quiet=quiet)
    live = Live(_table(results, console.is_terminal), console=console, refresh_per_second=10)
    with live if console.is_terminal and not quiet else contextlib.nullcontext():
        for scenario in SCENARIOS:
            results.append(play(scenario, api))
            live.update(_table(results, console.is_terminal))
    if not console.is_terminal:
        console.print(_table(results, False))
    return results


def _table(results: Sequence[Result], is_live: bool) -> Table:
    table = sheet("job", "shows", "state", "time", "detail", fixed=("job", "state"), right=("time",))
    for result in results:
        table.add_row(
            result.scenario.job, result.scenario.shows, _state(result), span(result.seconds), result.detail
        )
    if is_live and len(results) < len(SCENARIOS):
        coming = SCENARIOS[len(results)]
        table.add_row(coming.job, coming.shows, Spinner("dots"), "", "")
    return table


def _state(result: Result) -> Text:
    if result.left_out:
        return Text("left out", style="yellow")
    return Text("passed", style="green") if result.passed else Text("FAILED", style="bold red")


def _row(result: Result) -> dict[str, Any]:
    return {
        "job": result.scenario.job,
        "shows": result.scenario.shows,
        "passed": result.passed,
        "left_out": result.left_out,
        "seconds": round(result.seconds, 3),
        "detail": result.detail,
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

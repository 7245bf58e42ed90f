"""Waiting for jobs with something to look at. The bar goes to stderr, so that stdout stays the answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from quire.entrypoints.api_client import ApiClient
from quire.entrypoints.cli.exit_code import JOB_FAILED, NOT_ENDED
from quire.entrypoints.cli.job_screen import standstill_of
from quire.kernel import UnavailableError

Job = dict[str, Any]

ENDED = frozenset({"succeeded", "failed", "cancelled", "expired"})
# One long poll; short enough for a percentage to move.
LOOK_SECONDS = 1.0
# An API that restarts in the meantime is waited for this long.
OUTAGE_SECONDS = 30.0


def wait_for_jobs(
    api: ApiClient, job_ids: Sequence[str], *, timeout_seconds: float | None, quiet: bool
) -> list[Job]:
    """The jobs in order, ended or as they were when time was up."""
    deadline = time.monotonic() + timeout_seconds if timeout_seconds is not None else float("inf")
    jobs: list[Job] = []
    with _progress(quiet) as progress:
        bar = progress.add_task("", total=len(job_ids), label=_label(job_ids))
        for job_id in job_ids:
            try:
                jobs.append(_wait(api, job_id, deadline, progress, bar, alone=len(job_ids) == 1, quiet=quiet))
            except KeyboardInterrupt:
                typer.echo(f"no longer waited for; it goes on: quire jobs wait {job_id}", err=True)
                raise
            if len(job_ids) > 1:
                progress.advance(bar)
    return jobs


def _wait(
    api: ApiClient, job_id: str, deadline: float, progress: Progress, bar: TaskID, *, alone: bool, quiet: bool
) -> Job:
    out_since: float | None = None
    told = False
    while True:
        left = max(0.0, deadline - time.monotonic())
        try:
            job: Job = api.get(f"/jobs/{job_id}", wait=round(min(LOOK_SECONDS, left), 3))
            out_since = None
        except UnavailableError:
            out_since = out_since or time.monotonic()
            if time.monotonic() - out_since > OUTAGE_SECONDS or left <= 0:
                raise
            time.sleep(min(0.5, left))
            continue
        if not told and not quiet and (why := standstill_of(job)):
            typer.echo(f"{job_id} waits: {why}", err=True)
            told = True
        if alone:
            _show_state(progress, bar, job)
        if job["state"] in ENDED or left <= 0:
            return job


def _show_state(progress: Progress, bar: TaskID, job: Job) -> None:
    percent = 100 if job["state"] in ENDED else job["progress_percent"]
    label = f"{job['kind']} {job['state']}"
    if percent is None:
        progress.update(bar, total=None, label=label)
    else:
        progress.update(bar, total=100, completed=percent, label=label)


def exit_by_outcome(jobs: Sequence[Job]) -> None:
    """0 when all succeeded; a failure weighs more than a job that has not ended."""
    states = {job["state"] for job in jobs}
    if states & (ENDED - {"succeeded"}):
        raise typer.Exit(JOB_FAILED)
    if states - ENDED:
        raise typer.Exit(NOT_ENDED)


def _label(job_ids: Sequence[str]) -> str:
    return job_ids[0] if len(job_ids) == 1 else f"{len(job_ids)} jobs"


def _progress(quiet: bool) -> Progress:
    console = Console(stderr=True)
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.fields[label]}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )

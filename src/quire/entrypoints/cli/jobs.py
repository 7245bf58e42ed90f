"""`quire jobs list|show|submit|wait|cancel|retry|batch`, over the HTTP API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from quire.entrypoints.api_client import ApiClient
from quire.entrypoints.cli import job_screen
from quire.entrypoints.cli.job_waiting import Job, exit_by_outcome, wait_for_jobs
from quire.entrypoints.cli.json_input import read_lines, read_object
from quire.entrypoints.cli.listing import AsJson, say_more, show_json
from quire.entrypoints.cli.moments import size
from quire.entrypoints.cli.whole_file import whole_file
from quire.entrypoints.cli.with_api import with_api

app = typer.Typer(help="Jobs.", no_args_is_help=True)

JobId = Annotated[UUID, typer.Argument(help="Id of the job.")]
JobIds = Annotated[list[UUID], typer.Argument(help="Ids of jobs.")]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait for the end; exit 4 unless it is a success.")]
Timeout = Annotated[float | None, typer.Option(min=0, help="Seconds to wait at most; then exit 5.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Save the job's artifact here.")]


@app.command("list")
@with_api
def list_jobs(
    api: ApiClient,
    state: Annotated[
        list[str] | None, typer.Option(help=f"One of {', '.join(job_screen.STYLES)}; may be repeated.")
    ] = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind.")] = None,
    queue: Annotated[str | None, typer.Option(help="Only this queue.")] = None,
    tenant: Annotated[str | None, typer.Option(help="With platform scope: only this tenant.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 30,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first."""
    jobs, more = api.items("/jobs", limit, state=state or None, kind=kind, queue=queue, tenant=tenant)
    if as_json:
        show_json(jobs)
        return
    job_screen.show_jobs(jobs)
    if more:
        say_more(len(jobs))


@app.command("show")
@with_api
def show(api: ApiClient, job_id: JobId, as_json: AsJson = False) -> None:
    """Show a job with its whole timeline."""
    _show(api.get(f"/jobs/{job_id}"), as_json)


@app.command("submit")
@with_api
def submit(
    api: ApiClient,
    kind: Annotated[str, typer.Argument(help="Kind of job, such as jobs.echo.")],
    payload: Annotated[str, typer.Argument(help="JSON object; @FILE or - for standard input.")] = "{}",
    queue: Annotated[str | None, typer.Option(help="Another queue than the kind's own.")] = None,
    size_class: Annotated[str | None, typer.Option(help="small, medium, large or xlarge.")] = None,
    delay: Annotated[float | None, typer.Option(min=0, help="Seconds before it may start.")] = None,
    after: Annotated[
        list[UUID] | None, typer.Option(help="Id of a job to wait for; may be repeated.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="A new job even if the same work exists.")] = False,
    ref: Annotated[str | None, typer.Option(help="Your own name for it.")] = None,
    document: Annotated[str | None, typer.Option(help="Document it belongs to.")] = None,
    wait: Wait = False,
    timeout: Timeout = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Submit a job. The same work twice is the same job, unless --again."""
    given = {
        "queue": queue,
        "size_class": size_class,
        "delay_seconds": delay,
        "external_ref": ref,
        "document_id": document,
    }
    body = {
        "kind": kind,
        "payload": read_object(payload),
        "unique": not again,
        "depends_on": [str(job_id) for job_id in after or []],
    }
    receipt = api.post("/jobs", body | {name: value for name, value in given.items() if value is not None})
    if wait or output:
        _finish(api, [receipt["job_id"]], timeout, output, as_json)
    elif as_json:
        show_json(receipt)
    else:
        typer.echo(f"{receipt['job_id']} {receipt['outcome']}, {receipt['status']}")


@app.command("wait")
@with_api
def wait_(
    api: ApiClient, job_ids: JobIds, timeout: Timeout = None, output: Output = None, as_json: AsJson = False
) -> None:
    """Wait until jobs have ended. Exits with 4 when one ended without success, 5 when time was up."""
    _finish(api, job_ids, timeout, output, as_json)


@app.command("cancel")
@with_api
def cancel(api: ApiClient, job_ids: JobIds, as_json: AsJson = False) -> None:
    """Cancel jobs: a queued one at once, a running one when its worker lets go."""
    outcomes = [api.post(f"/jobs/{job_id}/cancel") for job_id in job_ids]
    if as_json:
        show_json(outcomes)
    else:
        for item in outcomes:
            typer.echo(f"{item['job_id']} {item['outcome'].replace('_', ' ')}")


@app.command("retry")
@with_api
def retry(
    api: ApiClient, job_ids: JobIds, wait: Wait = False, timeout: Timeout = None, as_json: AsJson = False
) -> None:
    """Approve the restart of dead letters."""
    problems = [api.post(f"/jobs/{job_id}/retry") for job_id in job_ids]
    if wait:
        _finish(api, job_ids, timeout, None, as_json)
    elif as_json:
        show_json(problems)
    else:
        for problem in problems:
            typer.echo(f"{problem['job_id']} restarted")


@app.command("batch")
@with_api
def batch(
    api: ApiClient,
    path: Annotated[Path, typer.Argument(help="File of JSON lines, one job each; - for standard input.")],
    wait: Wait = False,
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> None:
    """Submit up to 10,000 jobs, all or none. A line may wait for earlier ones: "depends_on": ["#0"]."""
    results = api.post("/jobs/batch", {"jobs": read_lines(path)})["results"]
    if wait:
        _finish(api, [item["job_id"] for item in results], timeout, None, as_json)
    elif as_json:
        show_json(results)
    else:
        outcomes = Counter(item["outcome"] for item in results)
        for item in results:
            typer.echo(f"{item['job_id']} {item['outcome']}, {item['status']}")
        typer.echo(_counted(outcomes), err=True)


def _finish(
    api: ApiClient,
    job_ids: Sequence[UUID | str],
    timeout: float | None,
    output: Path | None,
    as_json: bool,
) -> None:
    jobs = wait_for_jobs(api, [str(job_id) for job_id in job_ids], timeout_seconds=timeout, quiet=as_json)
    if output is not None and all(job["artifact"] for job in jobs):
        _save(api, jobs, output, as_json)
    if len(jobs) == 1:
        _show(jobs[0], as_json)
    elif as_json:
        show_json(jobs)
    else:
        _show_ends(jobs)
    exit_by_outcome(jobs)


def _save(api: ApiClient, jobs: Sequence[Job], output: Path, as_json: bool) -> None:
    """One artifact goes into the file itself, several into a directory under their jobs' ids."""
    for job in jobs:
        name = f"{job['id']}-{job['artifact']['filename']}"
        path = output if len(jobs) == 1 else output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as target:
            written = api.download(job["artifact"]["path"], target)
        if not as_json:
            typer.echo(f"saved {path} ({size(written)})", err=True)


def _show(job: Job, as_json: bool) -> None:
    show_json(job) if as_json else job_screen.show_job(job)


def _show_ends(jobs: Sequence[Job]) -> None:
    """Those that did not succeed, and the count of all."""
    if odd := [job for job in jobs if job["state"] != "succeeded"]:
        job_screen.show_jobs(odd)
    typer.echo(_counted(Counter(job["state"] for job in jobs)))


def _counted(counts: Counter[Any]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())

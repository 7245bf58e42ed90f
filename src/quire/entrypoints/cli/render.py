"""`quire render`: from data to a PDF on this machine, over the HTTP API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from quire.entrypoints.api_client import ApiClient
from quire.entrypoints.cli.hashing_file import HashingFile
from quire.entrypoints.cli.job_waiting import ENDED, exit_by_outcome, wait_for_jobs
from quire.entrypoints.cli.json_input import read_object
from quire.entrypoints.cli.listing import AsJson, show_json
from quire.entrypoints.cli.moments import ago, between, size
from quire.entrypoints.cli.sheet import put, sheet
from quire.entrypoints.cli.whole_file import whole_file
from quire.entrypoints.cli.with_api import with_api
from quire.kernel import UnavailableError

FLAGS = {"true": True, "false": False}

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to save the PDF; - for standard output.")
]


class DownloadDamagedError(UnavailableError):
    code = "DOWNLOAD_DAMAGED"
    title = "The downloaded bytes are not the rendered ones"


@with_api
def render(
    api: ApiClient,
    template: Annotated[str | None, typer.Argument(help="Name of a template pack.")] = None,
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="File with the JSON payload; - for standard input.")
    ] = None,
    output: Output = None,
    version: Annotated[
        str | None, typer.Option("--version", help="Version of the template; the newest by default.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="paper=A5, landscape=true, title=…; may be repeated.")
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Print the template with its own sample payload.")
    ] = False,
    show_sample: Annotated[
        bool, typer.Option("--show-sample", help="Only show that payload, as JSON to begin with.")
    ] = False,
    html: Annotated[bool, typer.Option("--html", help="Only show the HTML that would be printed.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the templates that may be used.")] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Seconds to wait at most; then exit 5.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a document: submit it, wait for it, fetch the PDF and check its hash."""
    if list_:
        _show_templates(api.get("/pdf/templates"), as_json)
        return
    if show_sample and template:
        show_json(api.get(f"/pdf/templates/{template}")["sample"])
        return
    document = _document(api, template, data, version, option or [], sample)
    if html:
        typer.echo(api.post_text("/pdf/preview", document), nl=False)
        return
    _print(api, document, output, timeout, as_json)


def _document(
    api: ApiClient,
    template: str | None,
    data: str | None,
    version: str | None,
    options: Sequence[str],
    sample: bool,
) -> dict[str, Any]:
    if template is None or (data is None) != sample:
        raise typer.BadParameter("give a template and a file with its payload, or a template and --sample")
    payload = api.get(f"/pdf/templates/{template}")["sample"] if data is None else read_object(_place(data))
    document = {"template_name": template, "payload": payload, "options": _options(options)}
    return document | ({"template_version": version} if version else {})


def _place(data: str) -> str:
    return data if data == "-" else f"@{data}"


def _options(pairs: Sequence[str]) -> dict[str, object]:
    chosen: dict[str, object] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign:
            raise typer.BadParameter(f"--option {pair}: write NAME=VALUE")
        chosen[name] = FLAGS.get(value.lower(), value)
    return chosen


def _print(
    api: ApiClient, document: dict[str, Any], output: Path | None, timeout: float | None, as_json: bool
) -> None:
    job_id, existed = api.post_document(document)
    ended = wait_for_jobs(api, [job_id], timeout_seconds=timeout, quiet=as_json)
    job = api.get(f"/pdf/jobs/{job_id}") | {"outcome": "existing" if existed else "created"}
    if job["status"] == "succeeded":
        # Named by its content, so that no other document is ever overwritten.
        path = output or Path(f"{document['template_name']}-{job['sha256'][:8]}.pdf")
        job["size_bytes"] = _save(api, job, path)
        job["file"] = str(path)
    show_json(job) if as_json else _show(job)
    exit_by_outcome(ended)


def _save(api: ApiClient, job: dict[str, Any], path: Path) -> int:
    """The file appears only when its bytes are the rendered ones."""
    with whole_file(path) as target:
        hashing = HashingFile(target)
        written = api.download(job["download_url"], hashing)
        if hashing.sha256 != job["sha256"]:
            raise DownloadDamagedError(f"{path}: sha256 {hashing.sha256}, the job says {job['sha256']}")
    return written


def _show(job: dict[str, Any]) -> None:
    if job["status"] == "succeeded":
        pages = "1 page" if job["pages"] == 1 else f"{job['pages']} pages"
        existing = f"existing, rendered {ago(job['finished_at'])}"
        took = existing if job["outcome"] == "existing" else between(job["created_at"], job["finished_at"])
        typer.echo(
            f"{job['file']}: {pages}, {size(job['size_bytes'])}, {took}, job {job['job_id']}", err=True
        )
        for url in job["blocked_urls"]:
            typer.echo(f"not loaded: {url}", err=True)
    elif job["status"] in ENDED and job["error"]:
        typer.echo(f"{job['status']}: {job['error']['error_code']}: {job['error']['message']}", err=True)
    else:
        typer.echo(f"{job['status']}: job {job['job_id']}", err=True)


def _show_templates(templates: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        show_json(templates)
        return
    table = sheet("template", "versions", "title", "description", fixed=("template", "versions"))
    for item in templates:
        table.add_row(item["name"], " ".join(item["versions"]), item["title"], item["description"])
    put(table)

"""`quire convert`: from a PDF to XML on this machine, over the HTTP API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from quire.entrypoints.api_client import ApiClient
from quire.entrypoints.cli.hashing_file import HashingFile
from quire.entrypoints.cli.job_waiting import ENDED, exit_by_outcome, wait_for_jobs
from quire.entrypoints.cli.listing import AsJson, show_json
from quire.entrypoints.cli.moments import ago, between, size
from quire.entrypoints.cli.sheet import printable, put, sheet
from quire.entrypoints.cli.silent_xml import says_nothing
from quire.entrypoints.cli.whole_file import LocalFileError, in_words, whole_file
from quire.entrypoints.cli.with_api import with_api
from quire.kernel import UnavailableError


class ResultDamagedError(UnavailableError):
    code = "DOWNLOAD_DAMAGED"
    title = "The downloaded bytes are not the converted ones"


@with_api
def convert(
    api: ApiClient,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The PDF.")] = None,
    mapping: Annotated[str | None, typer.Option("--mapping", "-m", help="Which XML: see --list.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to save the XML; - for standard output.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the mappings that may be used.")] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Seconds to wait at most; then exit 5.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn a PDF into XML: hand it in, wait for it, fetch the result and check its hash."""
    if list_:
        _show_mappings(api.get("/convert/mappings"), as_json)
        return
    if file is None or mapping is None:
        raise typer.BadParameter("give a file and --mapping; --list shows the mappings")
    if output is not None and output.exists() and file.exists() and output.samefile(file):
        raise LocalFileError(f"{output}: it is the PDF itself; give the XML another name")
    try:
        with file.open("rb") as source:
            job_id, existed = api.post_pdf(source, mapping)
    except OSError as error:
        raise LocalFileError(f"{file}: {in_words(error)}") from None
    ended = wait_for_jobs(api, [job_id], timeout_seconds=timeout, quiet=as_json)
    job = api.get(f"/convert/jobs/{job_id}") | {"outcome": "existing" if existed else "created"}
    if job["status"] == "succeeded":
        path = output or Path(f"{file.stem}.{mapping}.xml")
        _save(api, job, path)
        job["file"] = str(path)
        if path.is_file() and says_nothing(path, mapping):
            typer.echo(f"{path}: no text in it; the pages are pictures, as scans are, or empty", err=True)
    show_json(job) if as_json else _show(job)
    exit_by_outcome(ended)


def _save(api: ApiClient, job: dict[str, Any], path: Path) -> None:
    """The file appears only when its bytes are the converted ones."""
    with whole_file(path) as target:
        hashing = HashingFile(target)
        api.download(job["result_url"], hashing)
        if hashing.sha256 != job["sha256"]:
            raise ResultDamagedError(f"{path}: sha256 {hashing.sha256}, the job says {job['sha256']}")


def _show(job: dict[str, Any]) -> None:
    if job["status"] == "succeeded":
        existing = f"existing, converted {ago(job['finished_at'])}"
        took = existing if job["outcome"] == "existing" else between(job["created_at"], job["finished_at"])
        typer.echo(
            f"{job['file']}: {job['mapping']}, {size(job['size_bytes'])}, {took}, job {job['job_id']}",
            err=True,
        )
    elif job["status"] in ENDED and job["error"]:
        typer.echo(f"error: {_failure(job)}, job {job['job_id']}", err=True)
    else:
        typer.echo(f"{job['status']}: job {job['job_id']}", err=True)


def _failure(job: dict[str, Any]) -> str:
    """With the gateway's own code where the eye looks for one, and not a second time in the message."""
    code, message = job["error"]["error_code"], job["error"]["message"].replace("\n", " ")
    if said := job["gateway_code"]:
        code, message = f"{code} ({said})", message.replace(f" ({said})", "", 1)
    return f"{code}: {printable(message)}"


def _show_mappings(mappings: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        show_json(mappings)
        return
    table = sheet("mapping", "gives", fixed=("mapping",))
    for item in mappings:
        table.add_row(item["name"], item["description"])
    put(table)

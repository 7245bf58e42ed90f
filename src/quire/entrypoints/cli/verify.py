"""`quire verify`: whether a PDF is, byte for byte, what Quire rendered."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer

from quire.entrypoints.api_client import ApiClient
from quire.entrypoints.cli.listing import AsJson, show_json
from quire.entrypoints.cli.whole_file import LocalFileError, in_words
from quire.entrypoints.cli.with_api import with_api

PDF_MARK_WITHIN = 1024


@with_api
def verify(
    api: ApiClient,
    file: Annotated[Path, typer.Argument(help="The PDF.")],
    job: Annotated[str | None, typer.Option(help="The job that is said to have rendered it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a PDF is what Quire rendered. Exits with 1 when it is not."""
    verdict = api.get("/pdf/verify", sha256=_sha256_of(file), job_id=job)
    if as_json:
        show_json(verdict)
    else:
        typer.echo(_said(file, verdict))
    if not verdict["genuine"]:
        raise typer.Exit(1)


def _sha256_of(file: Path) -> str:
    try:
        with file.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError as error:
        raise LocalFileError(f"{file}: {in_words(error)}") from None


def _is_pdf(file: Path) -> bool:
    """As viewers do: the mark may stand behind a little of something else."""
    with file.open("rb") as source:
        return b"%PDF-" in source.read(PDF_MARK_WITHIN)


def _said(file: Path, verdict: dict[str, Any]) -> str:
    job, digest = verdict["job"], f"sha256 {verdict['sha256']}"
    if verdict["genuine"]:
        what = " ".join(filter(None, (job["template_name"], job["template_version"])))
        return f"genuine: {file} is {what} of job {job['job_id']}, rendered {job['finished_at']}, {digest}"
    if job is not None:
        rendered = f"rendered sha256 {job['sha256']}" if job["sha256"] else f"is {job['status']}"
        return f"not genuine: job {job['job_id']} {rendered}, {file} has {digest}"
    if not _is_pdf(file):
        return f"not genuine: {file} is no PDF"
    return f"not genuine: no document that you may see has {digest}"

"""Fetching a document, and asking whether bytes are one."""

from __future__ import annotations

from typing import Annotated

import structlog
from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse

from quire.jobs import Artifact, JobDetail, JobState, Receipt
from quire.kernel import ConflictError, GoneError
from quire.render.application.verify_pdf import verify_pdf
from quire.render.presentation.routes.desk import PdfDesk
from quire.render.presentation.schemas.pdf import PdfReceipt, PdfVerification, Wait, pdf_job_view
from quire.runtime.auth import Principal
from quire.runtime.http import CurrentPrincipal
from quire.runtime.http.object_answer import Download, object_answer
from quire.runtime.storage import StorageCorruptError, StorageNotFoundError

log = structlog.get_logger(__name__)


def add_fetching(router: APIRouter, desk: PdfDesk) -> None:
    @router.get("/jobs/{job_id}/download", response_class=Response)
    async def download_pdf(
        caller: CurrentPrincipal,
        job_id: str,
        wait: Wait = 0,
        range_: Annotated[str | None, Header(alias="Range", max_length=100)] = None,
        if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
    ) -> Response:
        """202 with Retry-After while it is not done, 409 when it failed, 410 when it has expired. With `wait` the
        answer comes as soon as the document is done."""
        return await document_answer(desk, caller, job_id, wait, range_, if_none_match)

    @router.get("/verify")
    async def verify_document(
        caller: CurrentPrincipal,
        sha256: Annotated[str, Query(pattern="^[0-9a-f]{64}$")],
        job_id: Annotated[str | None, Query(max_length=100)] = None,
    ) -> PdfVerification:
        """Whether bytes with this hash are what was rendered: for that job, or for any that the caller sees."""
        genuine, detail = await verify_pdf(desk.board, caller, sha256, job_id)
        return PdfVerification(sha256=sha256, genuine=genuine, job=pdf_job_view(detail) if detail else None)


async def document_answer(
    desk: PdfDesk,
    caller: Principal,
    job_id: str,
    wait_seconds: float,
    range_: str | None = None,
    if_none_match: str | None = None,
) -> Response:
    detail = await desk.find(caller, job_id, wait_seconds, with_payload=False)
    if detail.artifact is None:
        return _without_pdf(detail)
    return await _artifact_answer(desk, detail.artifact, range_, if_none_match)


async def asked_document_answer(
    desk: PdfDesk, caller: Principal, receipt: Receipt, wait_seconds: float
) -> Response:
    """For who has just asked, and so may have it: what is done is not looked for again, and what is new is not
    looked at before it ends."""
    if receipt.artifact is not None:
        try:
            return await _artifact_answer(desk, receipt.artifact)
        except StorageCorruptError:
            # Bytes that are proven wrong serve nobody; without them the document is made again.
            log.warning("artifact_damaged", job_id=str(receipt.job_id), artifact_key=receipt.artifact.key)
            await desk.storage.delete(receipt.artifact.key)
            raise GoneError("the document was damaged in storage", code="PDF_EXPIRED") from None
    if receipt.outcome == "created" and wait_seconds:
        await desk.watch.wait(receipt.job_id, wait_seconds)
        wait_seconds = 0
    return await document_answer(desk, caller, str(receipt.job_id), wait_seconds)


async def _artifact_answer(
    desk: PdfDesk, file: Artifact, range_: str | None = None, if_none_match: str | None = None
) -> Response:
    try:
        return await object_answer(desk.storage, _download(file), range_, if_none_match)
    except StorageNotFoundError:
        raise GoneError("the document is gone from storage", code="PDF_EXPIRED") from None


def _download(file: Artifact) -> Download:
    return Download(file.key, file.size_bytes, file.sha256, file.content_type, file.filename)


def _without_pdf(detail: JobDetail) -> Response:
    job = detail.job
    if job.state is JobState.EXPIRED:
        raise GoneError("the document has expired", code="PDF_EXPIRED")
    if job.state in (JobState.FAILED, JobState.CANCELLED):
        raise ConflictError(
            job.error_message or f"the job is {job.state}", code=job.error_code or "PDF_CANCELLED"
        )
    body = PdfReceipt(job_id=job.id, status=job.state).model_dump(mode="json")
    return JSONResponse(body, 202, {"Retry-After": "1"})

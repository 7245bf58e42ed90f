"""`/pdf/jobs`: ask for a document, follow it, fetch it. The API process never launches a browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import HTMLResponse, JSONResponse

from quire.jobs import (
    Broker,
    CompletionWatch,
    JobBoard,
    JobDetail,
    JobFilter,
    JobState,
    cancel_job,
    list_jobs,
)
from quire.kernel import ConflictError, GoneError, UnavailableError
from quire.render.application.create_pdf_job import KIND, RenderDesk, create_pdf_job
from quire.render.application.find_pdf_job import find_pdf_job
from quire.render.application.preview_html import preview_html
from quire.render.application.verify_pdf import verify_pdf
from quire.render.ports.v1.html_builder import HtmlBuilder
from quire.render.presentation.schemas.pdf import (
    PdfJobView,
    PdfReceipt,
    PdfRequest,
    PdfVerification,
    pdf_job_view,
)
from quire.runtime.auth import Principal
from quire.runtime.http import CurrentPrincipal, Page, PageCursor, PageLimit, StrictRoute
from quire.runtime.http.object_answer import Download, object_answer
from quire.runtime.http.position import before_id, next_cursor
from quire.runtime.storage import StorageBackend, StorageNotFoundError

UNAVAILABLE = "PDF_RENDER_UNAVAILABLE"
# What a preview or a fallback may do in the reader's browser: show itself.
INERT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox"


@dataclass(frozen=True, slots=True)
class PdfDesk:
    """What the routes work with; wired by the entrypoint."""

    render: RenderDesk
    board: JobBoard
    broker: Broker
    watch: CompletionWatch
    storage: StorageBackend
    builder: HtmlBuilder
    failsafe: Literal["strict", "degrade"]


def pdf_routes(desk: PdfDesk) -> APIRouter:
    router = APIRouter(prefix="/pdf", tags=["pdf"], route_class=StrictRoute)

    @router.post(
        "/jobs", status_code=202, responses={200: {"model": PdfReceipt, "description": "It exists."}}
    )
    async def create_pdf(caller: CurrentPrincipal, document: PdfRequest) -> Response:
        """202 for a new job, 200 for one that makes the same document. While no renderer lives: 503, or the HTML
        with `X-Pdf-Fallback: html` where that is configured."""
        try:
            receipt = await create_pdf_job(desk.render, caller, document.wanted())
        except UnavailableError as error:
            # The database, the broker, the storage or every renderer: to the caller it is all one.
            return await _without_renderer(desk, caller, document, error)
        created = receipt.outcome == "created"
        body = PdfReceipt(job_id=receipt.job_id, status=receipt.state).model_dump(mode="json")
        return JSONResponse(body, 202 if created else 200, {"Location": f"/pdf/jobs/{receipt.job_id}"})

    @router.get("/jobs")
    async def list_pdfs(
        caller: CurrentPrincipal,
        state: Annotated[list[JobState], Query(max_length=len(JobState))] = [],  # noqa: B006
        limit: PageLimit = 50,
        cursor: PageCursor = None,
    ) -> Page[PdfJobView]:
        """Newest first."""
        wanted = JobFilter(None, states=tuple(state), kind=KIND, before_id=before_id(cursor), limit=limit)
        jobs = await list_jobs(desk.board, caller, wanted)
        views = [pdf_job_view(JobDetail(job, [])) for job in jobs]
        return Page(items=views, next_cursor=next_cursor(jobs, limit))

    @router.get("/jobs/{job_id}")
    async def show_pdf(
        caller: CurrentPrincipal, job_id: str, wait: Annotated[float, Query(ge=0, le=30)] = 0
    ) -> PdfJobView:
        """With `wait` the answer comes as soon as the document is done."""
        detail = await find_pdf_job(desk.board, caller, job_id)
        if wait and detail.job.finished_at is None:
            await desk.watch.wait(detail.job.id, wait)
            detail = await find_pdf_job(desk.board, caller, job_id)
        return pdf_job_view(detail)

    @router.get("/jobs/{job_id}/download", response_class=Response)
    async def download_pdf(
        caller: CurrentPrincipal,
        job_id: str,
        range_: Annotated[str | None, Header(alias="Range", max_length=100)] = None,
        if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
    ) -> Response:
        """202 with Retry-After while it is not done, 409 when it failed, 410 when it has expired."""
        detail = await find_pdf_job(desk.board, caller, job_id)
        if detail.artifact is None:
            return _without_pdf(detail)
        file = detail.artifact
        download = Download(file.key, file.size_bytes, file.sha256, file.content_type, file.filename)
        try:
            return await object_answer(desk.storage, download, range_, if_none_match)
        except StorageNotFoundError:
            raise GoneError("the document is gone from storage", code="PDF_EXPIRED") from None

    @router.delete("/jobs/{job_id}", status_code=202)
    async def cancel_pdf(caller: CurrentPrincipal, job_id: str) -> PdfReceipt:
        """Ends it, unless others asked for the same document; they keep theirs."""
        detail = await find_pdf_job(desk.board, caller, job_id)
        await cancel_job(desk.board, desk.broker, caller, detail.job.id)
        detail = await find_pdf_job(desk.board, caller, job_id)
        return PdfReceipt(job_id=detail.job.id, status=detail.job.state)

    @router.get("/verify")
    async def verify_document(
        caller: CurrentPrincipal,
        sha256: Annotated[str, Query(pattern="^[0-9a-f]{64}$")],
        job_id: Annotated[str | None, Query(max_length=100)] = None,
    ) -> PdfVerification:
        """Whether bytes with this hash are what was rendered: for that job, or for any that the caller sees."""
        genuine, detail = await verify_pdf(desk.board, caller, sha256, job_id)
        return PdfVerification(sha256=sha256, genuine=genuine, job=pdf_job_view(detail) if detail else None)

    @router.post("/preview", response_class=HTMLResponse)
    async def preview_pdf(caller: CurrentPrincipal, document: PdfRequest) -> Response:
        """The HTML that would be printed."""
        return _html(await preview_html(desk.render, desk.builder, caller, document.wanted()))

    return router


async def _without_renderer(
    desk: PdfDesk, caller: Principal, document: PdfRequest, error: UnavailableError
) -> Response:
    if desk.failsafe == "strict":
        raise UnavailableError(error.detail, code=UNAVAILABLE) from error
    answer = _html(await preview_html(desk.render, desk.builder, caller, document.wanted()))
    answer.headers["X-Pdf-Fallback"] = "html"
    return answer


def _html(text: str) -> HTMLResponse:
    return HTMLResponse(text, headers={"Content-Security-Policy": INERT, "X-Content-Type-Options": "nosniff"})


def _without_pdf(detail: JobDetail) -> Response:
    job = detail.job
    if job.state is JobState.EXPIRED:
        raise GoneError("the document has expired", code="PDF_EXPIRED")
    if job.state in (JobState.FAILED, JobState.CANCELLED):
        code = job.error_code or "PDF_CANCELLED"
        raise ConflictError(job.error_message or f"the job is {job.state}", code=code)
    body = PdfReceipt(job_id=job.id, status=job.state).model_dump(mode="json")
    return JSONResponse(body, 202, {"Retry-After": "1"})

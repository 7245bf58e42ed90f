"""Asking for a document: the job, or the page it would print."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import HTMLResponse

from quire.jobs import Receipt
from quire.kernel import GoneError, UnavailableError
from quire.render.application.create_pdf_job import DocumentRequest, create_pdf_job
from quire.render.application.preview_html import preview_html
from quire.render.presentation.routes.desk import PdfDesk
from quire.render.presentation.routes.fetching import asked_document_answer
from quire.render.presentation.schemas.pdf import PdfReceipt, PdfRequest, Wait
from quire.runtime.auth import Principal
from quire.runtime.http import CurrentPrincipal

PDF = "application/pdf"
UNAVAILABLE = "PDF_RENDER_UNAVAILABLE"
# What a preview or a fallback may do in the reader's browser: show itself.
INERT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; sandbox"


def add_asking(router: APIRouter, desk: PdfDesk) -> None:
    @router.post(
        "/jobs",
        status_code=202,
        responses={
            200: {
                "description": "It exists; or the document itself.",
                "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/PdfReceipt"}},
                    PDF: {"schema": {"type": "string", "format": "binary"}},
                },
            }
        },
    )
    async def create_pdf(
        caller: CurrentPrincipal,
        document: PdfRequest,
        wait: Wait = 30,
        accept: Annotated[str, Header(max_length=1000, include_in_schema=False)] = "*/*",
    ) -> Response:
        """202 for a new job, 200 for one that makes the same document. While no renderer lives: 503, or the HTML
        with `X-Pdf-Fallback: html` where that is configured. With `Accept: application/pdf` the answer is the
        document, as from its download, if it is done within `wait`; `Location` names the job either way."""
        try:
            if _names_pdf(accept):
                return await _document(desk, caller, document.wanted(), wait)
            return _receipt_answer(await create_pdf_job(desk.render, caller, document.wanted()))
        except UnavailableError as error:
            # The database, the broker, the storage or every renderer: to the caller it is all one.
            return await _without_renderer(desk, caller, document, error)

    @router.post("/preview", response_class=HTMLResponse)
    async def preview_pdf(caller: CurrentPrincipal, document: PdfRequest) -> Response:
        """The HTML that would be printed."""
        return await _page_answer(desk, caller, document)


async def _document(
    desk: PdfDesk, caller: Principal, wanted: DocumentRequest, wait_seconds: float
) -> Response:
    receipt = await create_pdf_job(desk.render, caller, wanted, on_trust=True)
    try:
        answer = await asked_document_answer(desk, caller, receipt, wait_seconds)
    except GoneError:
        # It was done once, and its bytes are gone: it is made again.
        receipt = await create_pdf_job(desk.render, caller, wanted)
        answer = await asked_document_answer(desk, caller, receipt, wait_seconds)
    answer.headers["Location"] = _location(receipt)
    return answer


def _receipt_answer(receipt: Receipt) -> Response:
    body = PdfReceipt(job_id=receipt.job_id, status=receipt.state).model_dump_json()
    status = 202 if receipt.outcome == "created" else 200
    return Response(body, status, {"Location": _location(receipt)}, "application/json")


def _location(receipt: Receipt) -> str:
    return f"/pdf/jobs/{receipt.job_id}"


def _names_pdf(accept: str) -> bool:
    """By name: who takes anything gets the receipt."""
    return any(kind.partition(";")[0].strip().lower() == PDF for kind in accept.split(","))


async def _without_renderer(
    desk: PdfDesk, caller: Principal, document: PdfRequest, error: UnavailableError
) -> Response:
    if desk.failsafe == "strict":
        raise UnavailableError(error.detail, code=UNAVAILABLE) from error
    answer = await _page_answer(desk, caller, document)
    answer.headers["X-Pdf-Fallback"] = "html"
    return answer


async def _page_answer(desk: PdfDesk, caller: Principal, document: PdfRequest) -> HTMLResponse:
    page = await preview_html(desk.render, desk.builder, caller, document.wanted())
    return HTMLResponse(page, headers={"Content-Security-Policy": INERT, "X-Content-Type-Options": "nosniff"})

"""Following a document's job: list, state, end."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from quire.jobs import JobDetail, JobFilter, JobState, cancel_job, list_openable_jobs
from quire.render.application.create_pdf_job import KIND
from quire.render.presentation.routes.desk import PdfDesk
from quire.render.presentation.schemas.pdf import PdfJobView, PdfReceipt, Wait, pdf_job_view
from quire.runtime.http import CurrentPrincipal, Page, PageCursor, PageLimit
from quire.runtime.http.position import before_id, next_cursor


def add_following(router: APIRouter, desk: PdfDesk) -> None:
    @router.get("/jobs")
    async def list_pdfs(
        caller: CurrentPrincipal,
        state: Annotated[list[JobState], Query(max_length=len(JobState))] = [],  # noqa: B006
        limit: PageLimit = 50,
        cursor: PageCursor = None,
    ) -> Page[PdfJobView]:
        """Newest first: the documents that the caller may open."""
        wanted = JobFilter(None, states=tuple(state), kind=KIND, before_id=before_id(cursor), limit=limit)
        jobs = await list_openable_jobs(desk.board, caller, wanted)
        views = [pdf_job_view(JobDetail(job, [])) for job in jobs]
        return Page(items=views, next_cursor=next_cursor(jobs, limit))

    @router.get("/jobs/{job_id}")
    async def show_pdf(caller: CurrentPrincipal, job_id: str, wait: Wait = 0) -> PdfJobView:
        """With `wait` the answer comes as soon as the document is done."""
        return pdf_job_view(await desk.find(caller, job_id, wait))

    @router.delete("/jobs/{job_id}", status_code=202)
    async def cancel_pdf(caller: CurrentPrincipal, job_id: str) -> PdfReceipt:
        """Ends it, unless others asked for the same document; they keep theirs."""
        detail = await desk.find(caller, job_id)
        await cancel_job(desk.board, desk.broker, caller, detail.job.id)
        detail = await desk.find(caller, job_id)
        return PdfReceipt(job_id=detail.job.id, status=detail.job.state)

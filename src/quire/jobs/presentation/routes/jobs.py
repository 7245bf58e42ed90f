"""`/jobs`: ask for work, see it, wait for it, cancel it, approve its restart."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from quire.jobs.application.inspection.cancel_job import cancel_job
from quire.jobs.application.inspection.list_jobs import list_jobs
from quire.jobs.application.inspection.show_job import show_job
from quire.jobs.application.inspection.sign_artifact import sign_artifact
from quire.jobs.application.intake.submit_jobs import submit_jobs
from quire.jobs.application.problems.retry_job import retry_job
from quire.jobs.domain.job import JobDetail, JobFilter
from quire.jobs.domain.state import JobState
from quire.jobs.presentation.routes.desk import JobDesk
from quire.jobs.presentation.schemas.job import (
    CancelView,
    JobDetailView,
    JobView,
    job_detail_view,
    job_view,
)
from quire.jobs.presentation.schemas.problem import ProblemView, problem_view
from quire.jobs.presentation.schemas.submission import (
    BatchReceipt,
    BatchSubmission,
    JobSubmission,
    ReceiptView,
    receipt_view,
)
from quire.runtime.auth import Principal
from quire.runtime.http import CurrentPrincipal, Page, PageCursor, PageLimit, StrictRoute
from quire.runtime.http.position import TenantFilter, before_id, next_cursor

Wait = Annotated[float, Query(ge=0, le=30, description="Seconds to wait for the job to end.")]
Name = Annotated[str | None, Query(min_length=1, max_length=100)]


def job_routes(desk: JobDesk) -> APIRouter:
    router = APIRouter(tags=["jobs"], route_class=StrictRoute)

    @router.post(
        "/jobs", status_code=201, responses={200: {"model": ReceiptView, "description": "It exists."}}
    )
    async def create_job(caller: CurrentPrincipal, job: JobSubmission, response: Response) -> ReceiptView:
        """201 for a new job, 200 for one that does the same work already. Either way it is committed."""
        (receipt,) = await submit_jobs(desk.intake, desk.board, caller, [job.wanted()])
        response.status_code = 201 if receipt.outcome == "created" else 200
        response.headers["Location"] = f"/jobs/{receipt.job_id}"
        return receipt_view(receipt)

    @router.post("/jobs/batch")
    async def create_jobs(caller: CurrentPrincipal, batch: BatchSubmission) -> BatchReceipt:
        """All are accepted or none."""
        wanted = [job.wanted() for job in batch.jobs]
        receipts = await submit_jobs(desk.intake, desk.board, caller, wanted)
        return BatchReceipt(results=[receipt_view(receipt) for receipt in receipts])

    @router.get("/jobs", name="list_jobs")
    async def list_(
        caller: CurrentPrincipal,
        state: Annotated[
            list[JobState], Query(max_length=len(JobState), description="May be repeated.")
        ] = [],  # noqa: B006
        kind: Name = None,
        queue: Name = None,
        tenant: TenantFilter = None,
        limit: PageLimit = 50,
        cursor: PageCursor = None,
    ) -> Page[JobView]:
        """Newest first, without payloads. Users see their own, operators their tenant's."""
        wanted = JobFilter(
            tenant, states=tuple(state), kind=kind, queue=queue, before_id=before_id(cursor), limit=limit
        )
        jobs = await list_jobs(desk.board, caller, wanted)
        return Page(items=[job_view(job) for job in jobs], next_cursor=next_cursor(jobs, limit))

    @router.get("/jobs/{job_id:uuid}", name="show_job")
    async def show(caller: CurrentPrincipal, job_id: UUID, wait: Wait = 0) -> JobDetailView:
        """With `wait` the answer comes as soon as the job has ended."""
        detail = await show_job(desk.board, desk.watch, caller, job_id, wait_seconds=wait)
        return await _detail_view(desk, caller, detail)

    @router.post("/jobs/{job_id:uuid}/cancel", name="cancel_job")
    async def cancel(caller: CurrentPrincipal, job_id: UUID) -> CancelView:
        """A user gives up their own interest; the job goes on while others have one. Operators end it for all."""
        outcome = await cancel_job(desk.board, desk.broker, caller, job_id)
        return CancelView(job_id=job_id, outcome=outcome)

    @router.post("/jobs/{job_id:uuid}/retry", name="retry_job")
    async def retry(caller: CurrentPrincipal, job_id: UUID) -> ProblemView:
        """Approves the restart of a dead letter: decides its open problem with `retry`."""
        problem = await retry_job(desk.board, desk.problems, desk.decisions, desk.broker, caller, job_id)
        return problem_view(problem, [])

    return router


async def _detail_view(desk: JobDesk, caller: Principal, detail: JobDetail) -> JobDetailView:
    failed = detail.job.state is JobState.FAILED
    problem_id = await desk.problems.open_of_job(detail.job.id) if failed else None
    signed = await sign_artifact(desk.board, desk.storage, caller, detail)
    return job_detail_view(detail, problem_id, signed)

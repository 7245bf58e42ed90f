"""`/convert`: hand in a PDF, follow it, fetch the XML. The API process never talks to the gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import JSONResponse

from quire.convert.application.create_conversion import AcceptanceDesk, create_conversion
from quire.convert.application.find_conversion import find_conversion
from quire.convert.application.upload_desk import UploadDesk
from quire.convert.domain.conversion import KIND
from quire.convert.domain.gateway_code import code_in
from quire.convert.domain.mapping_list import DESCRIPTIONS
from quire.convert.presentation.conversion_body import REQUEST_BODY, wanted_conversion
from quire.convert.presentation.schemas.conversion import (
    ConversionReceipt,
    ConversionView,
    MappingView,
    UploadIn,
    UploadPlace,
    conversion_view,
)
from quire.jobs import (
    Broker,
    CompletionWatch,
    JobBoard,
    JobDetail,
    JobFilter,
    JobState,
    cancel_job,
    list_openable_jobs,
)
from quire.kernel import ConflictError, GoneError
from quire.runtime.http import CurrentPrincipal, Page, PageCursor, PageLimit, StrictRoute
from quire.runtime.http.object_answer import Download, object_answer
from quire.runtime.http.position import before_id, next_cursor
from quire.runtime.storage import StorageBackend, StorageNotFoundError

EXPIRED = "CONVERSION_EXPIRED"


@dataclass(frozen=True, slots=True)
class ConversionDesk:
    """What the routes work with; wired by the entrypoint."""

    acceptance: AcceptanceDesk
    uploads: UploadDesk
    board: JobBoard
    broker: Broker
    watch: CompletionWatch
    storage: StorageBackend


def convert_routes(desk: ConversionDesk) -> APIRouter:
    router = APIRouter(prefix="/convert", tags=["convert"], route_class=StrictRoute)
    _add_asking(router, desk)
    _add_following(router, desk)
    _add_fetching(router, desk)
    return router


def _add_asking(router: APIRouter, desk: ConversionDesk) -> None:
    @router.get("/mappings")
    async def list_mappings(caller: CurrentPrincipal) -> list[MappingView]:
        """The allow-list."""
        names = desk.acceptance.mappings.names
        return [MappingView(name=name, description=DESCRIPTIONS.get(name, "")) for name in names]

    @router.post("/uploads", status_code=201)
    async def place_upload(caller: CurrentPrincipal, upload: UploadIn) -> UploadPlace:
        """A signed URL that takes one PDF of exactly this size for ten minutes, past the API."""
        key, url = await desk.uploads.place(caller, upload.size_bytes)
        return UploadPlace(
            upload_key=key,
            method=url.method,
            url=url.url,
            headers=dict(url.headers),
            expires_at=url.expires_at,
        )

    @router.post(
        "/jobs",
        status_code=202,
        response_model=ConversionReceipt,
        responses={200: {"model": ConversionReceipt, "description": "It exists."}},
        openapi_extra=REQUEST_BODY,
    )
    async def create_conversion_job(caller: CurrentPrincipal, request: Request) -> Response:
        """202 for a new job, 200 for one that converts the same bytes with the same mapping."""
        async with wanted_conversion(request, caller, desk.uploads) as (mapping, chunks):
            receipt = await create_conversion(desk.acceptance, caller, mapping, chunks)
        body = ConversionReceipt(job_id=receipt.job_id, status=receipt.state).model_dump(mode="json")
        status = 202 if receipt.outcome == "created" else 200
        return JSONResponse(body, status, {"Location": f"/convert/jobs/{receipt.job_id}"})


def _add_following(router: APIRouter, desk: ConversionDesk) -> None:
    @router.get("/jobs")
    async def list_conversions(
        caller: CurrentPrincipal,
        state: Annotated[list[JobState], Query(max_length=len(JobState))] = [],  # noqa: B006
        limit: PageLimit = 50,
        cursor: PageCursor = None,
    ) -> Page[ConversionView]:
        """Newest first: the conversions that the caller may open."""
        wanted = JobFilter(
            None,
            states=tuple(state),
            kind=KIND,
            before_id=before_id(cursor),
            limit=limit,
            with_payload=True,
        )
        jobs = await list_openable_jobs(desk.board, caller, wanted)
        views = [conversion_view(JobDetail(job, [])) for job in jobs]
        return Page(items=views, next_cursor=next_cursor(jobs, limit))

    @router.get("/jobs/{job_id}")
    async def show_conversion(
        caller: CurrentPrincipal, job_id: str, wait: Annotated[float, Query(ge=0, le=30)] = 0
    ) -> ConversionView:
        """With `wait` the answer comes as soon as the conversion is done."""
        detail = await find_conversion(desk.board, caller, job_id)
        if wait and detail.job.finished_at is None:
            await desk.watch.wait(detail.job.id, wait)
            detail = await find_conversion(desk.board, caller, job_id)
        return conversion_view(detail)

    @router.delete("/jobs/{job_id}", status_code=202)
    async def cancel_conversion(caller: CurrentPrincipal, job_id: str) -> ConversionReceipt:
        """Ends it, unless others asked for the same; they keep theirs."""
        detail = await find_conversion(desk.board, caller, job_id)
        await cancel_job(desk.board, desk.broker, caller, detail.job.id)
        detail = await find_conversion(desk.board, caller, job_id)
        return ConversionReceipt(job_id=detail.job.id, status=detail.job.state)


def _add_fetching(router: APIRouter, desk: ConversionDesk) -> None:
    @router.get("/jobs/{job_id}/result", response_class=Response)
    async def fetch_result(
        caller: CurrentPrincipal,
        job_id: str,
        range_: Annotated[str | None, Header(alias="Range", max_length=100)] = None,
        if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
    ) -> Response:
        """202 with Retry-After while it is not done, 409 when it failed, 410 when it has expired."""
        detail = await find_conversion(desk.board, caller, job_id)
        if detail.artifact is None:
            return _without_result(detail)
        file = detail.artifact
        download = Download(file.key, file.size_bytes, file.sha256, file.content_type, file.filename)
        try:
            return await object_answer(desk.storage, download, range_, if_none_match)
        except StorageNotFoundError:
            raise GoneError("the result is gone from storage", code=EXPIRED) from None


def _without_result(detail: JobDetail) -> Response:
    job = detail.job
    if job.state is JobState.EXPIRED:
        raise GoneError("the result has expired", code=EXPIRED)
    if job.state in (JobState.FAILED, JobState.CANCELLED):
        said = code_in(job.error_message)
        raise ConflictError(
            job.error_message or f"the job is {job.state}",
            code=job.error_code or "CONVERSION_CANCELLED",
            extra={"gateway_code": said} if said else None,
        )
    body = ConversionReceipt(job_id=job.id, status=job.state).model_dump(mode="json")
    return JSONResponse(body, 202, {"Retry-After": "1"})

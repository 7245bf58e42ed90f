"""`/jobs/{id}/artifact`: the bytes that a job produced, whole or a range, named by their hash."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse, StreamingResponse

from quire.jobs.application.find_artifact import find_artifact
from quire.jobs.domain.errors import ArtifactNotFoundError
from quire.jobs.domain.job import Artifact, Job
from quire.jobs.presentation.routes.desk import JobDesk
from quire.jobs.presentation.schemas.job import UnfinishedView
from quire.runtime.http import CurrentPrincipal, StrictRoute
from quire.runtime.storage import StorageBackend, StorageNotFoundError
from quire.runtime.storage.content_disposition import attachment
from quire.runtime.storage.routes import byte_range

RETRY_AFTER_SECONDS = 1

_BYTES = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_ANSWERS: dict[int | str, dict[str, object]] = {
    200: {"description": "The bytes.", **_BYTES},
    202: {"description": "The job has not ended yet; see Retry-After.", "model": UnfinishedView},
    206: {"description": "The asked range of the bytes.", **_BYTES},
    304: {"description": "The caller has these bytes already."},
    416: {"description": "Nothing of the asked range exists."},
}


def artifact_routes(desk: JobDesk) -> APIRouter:
    router = APIRouter(tags=["jobs"], route_class=StrictRoute)

    @router.get("/jobs/{job_id:uuid}/artifact", response_class=Response, responses=_ANSWERS)
    async def download_artifact(
        caller: CurrentPrincipal,
        job_id: UUID,
        range_: Annotated[str | None, Header(alias="Range", max_length=100)] = None,
        if_none_match: Annotated[str | None, Header(max_length=1000)] = None,
    ) -> Response:
        """ETag is the SHA-256 of the bytes. 202 while the job has not ended, 404 when it has no artifact."""
        detail = await find_artifact(desk.board, caller, job_id)
        artifact = detail.artifact
        if artifact is None:
            return _unfinished(detail.job)
        headers = _headers(artifact)
        if if_none_match is not None and headers["ETag"] in if_none_match:
            return Response(status_code=304, headers={"ETag": headers["ETag"]})
        await _check_stored(desk.storage, artifact)
        return _answer(desk.storage, artifact, headers, range_)

    return router


def _unfinished(job: Job) -> Response:
    body = UnfinishedView(job_id=job.id, state=job.state).model_dump(mode="json")
    return JSONResponse(body, 202, {"Retry-After": str(RETRY_AFTER_SECONDS)})


async def _check_stored(storage: StorageBackend, artifact: Artifact) -> None:
    """Asked before the headers go out: later only a broken connection could tell."""
    try:
        await storage.stat(artifact.key)
    except StorageNotFoundError:
        raise ArtifactNotFoundError("the artifact is gone from storage") from None


def _answer(
    storage: StorageBackend, artifact: Artifact, headers: dict[str, str], asked: str | None
) -> Response:
    size = artifact.size_bytes
    span = byte_range(asked, size) if asked else None
    if span is not None and span[0] >= span[1]:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
    start, end = span or (0, size)
    headers["Content-Length"] = str(end - start)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
    body = storage.get_stream(artifact.key, start=start, end=end)
    return StreamingResponse(body, 200 if span is None else 206, headers)


def _headers(artifact: Artifact) -> dict[str, str]:
    return {
        "Content-Type": artifact.content_type,
        "Content-Disposition": attachment(artifact.filename),
        "Accept-Ranges": "bytes",
        "ETag": f'"{artifact.sha256}"',
        "Cache-Control": "private, no-cache",
        # Stored bytes are foreign: never sniffed, never run as a page of ours.
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }

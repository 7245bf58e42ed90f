"""`/jobs/{id}/artifact`: the bytes that a job produced, whole or a range, named by their hash."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse

from quire.jobs.application.inspection.find_artifact import find_artifact
from quire.jobs.domain.errors import ArtifactNotFoundError
from quire.jobs.domain.job import Artifact, Job
from quire.jobs.presentation.routes.desk import JobDesk
from quire.jobs.presentation.schemas.job import UnfinishedView
from quire.runtime.http import CurrentPrincipal, StrictRoute
from quire.runtime.http.object_answer import Download, object_answer
from quire.runtime.storage import StorageNotFoundError

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
        try:
            return await object_answer(desk.storage, _download(artifact), range_, if_none_match)
        except StorageNotFoundError:
            raise ArtifactNotFoundError("the artifact is gone from storage") from None

    return router


def _unfinished(job: Job) -> Response:
    body = UnfinishedView(job_id=job.id, state=job.state).model_dump(mode="json")
    return JSONResponse(body, 202, {"Retry-After": str(RETRY_AFTER_SECONDS)})


def _download(artifact: Artifact) -> Download:
    return Download(
        artifact.key, artifact.size_bytes, artifact.sha256, artifact.content_type, artifact.filename
    )

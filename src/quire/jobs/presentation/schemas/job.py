"""Jobs as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from quire.jobs.domain.job import Job, JobDetail
from quire.jobs.domain.queue import SIZE_CLASSES
from quire.jobs.domain.state import JobState
from quire.jobs.ports.v1.job_board import CancelOutcome
from quire.runtime.storage import PresignedUrl


class JobView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    state: JobState
    kind: str
    queue: str
    size_class: Literal["small", "medium", "large", "xlarge"]
    tenant_id: str
    created_by: str
    attempt: int
    retry_count: int
    crash_count: int
    pending_dependencies: int
    progress_percent: int | None
    created_at: datetime
    updated_at: datetime
    run_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    lease_expires_at: datetime | None
    cancel_requested_at: datetime | None
    leased_by: UUID | None
    trace_id: str | None
    document_id: str | None
    external_ref: str | None
    error_code: str | None
    error_message: str | None


class EventView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    at: datetime
    from_state: JobState | None
    to_state: JobState
    attempt: int
    fence: int
    actor: str
    reason: str | None
    error_code: str | None
    duration_ms: int | None


class ArtifactView(BaseModel):
    filename: str
    content_type: str
    size_bytes: int
    sha256: str
    path: str = Field(description="Where the API serves it, with the token of who may have it.")
    download_url: str | None = Field(
        description="Serves it without a token until download_url_expires_at. Null for who may not have the bytes."
    )
    download_url_expires_at: datetime | None


class JobDetailView(JobView):
    payload: Any
    result: Any
    depends_on: list[UUID]
    artifact: ArtifactView | None
    problem_id: UUID | None = Field(description="The open problem of a dead letter.")
    queue_paused_at: datetime | None = Field(
        default=None, description="Since when nothing of its queue is claimed, while the job is not started."
    )
    queue_paused_by: str | None = None
    queue_live_workers: int | None = Field(
        default=None, description="How many workers serve its queue now, while the job is not started."
    )
    timeline: list[EventView]


class CancelView(BaseModel):
    job_id: UUID
    outcome: CancelOutcome


class UnfinishedView(BaseModel):
    job_id: UUID
    state: JobState


def job_view(job: Job) -> JobView:
    return JobView(**_fields(job))


def job_detail_view(detail: JobDetail, problem_id: UUID | None, signed: PresignedUrl | None) -> JobDetailView:
    return JobDetailView(
        **_fields(detail.job),
        payload=detail.job.payload,
        result=detail.job.result,
        depends_on=list(detail.depends_on),
        artifact=_artifact_view(detail, signed),
        problem_id=problem_id,
        queue_paused_at=detail.pause.paused_at if detail.pause else None,
        queue_paused_by=detail.pause.paused_by if detail.pause else None,
        queue_live_workers=detail.live_workers,
        timeline=[EventView.model_validate(event) for event in detail.events],
    )


def _fields(job: Job) -> dict[str, Any]:
    derived = {
        "size_class": SIZE_CLASSES[job.priority],
        "trace_id": job.traceparent.split("-")[1] if job.traceparent else None,
    }
    return derived | {name: getattr(job, name) for name in JobView.model_fields if name not in derived}


def _artifact_view(detail: JobDetail, signed: PresignedUrl | None) -> ArtifactView | None:
    if detail.artifact is None:
        return None
    return ArtifactView(
        filename=detail.artifact.filename,
        content_type=detail.artifact.content_type,
        size_bytes=detail.artifact.size_bytes,
        sha256=detail.artifact.sha256,
        path=f"/jobs/{detail.job.id}/artifact",
        download_url=signed.url if signed else None,
        download_url_expires_at=signed.expires_at if signed else None,
    )

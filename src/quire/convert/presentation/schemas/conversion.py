"""Shapes of `/convert`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from quire.convert.domain.gateway_code import code_in
from quire.jobs import JobDetail, JobState


class UploadedFileIn(BaseModel):
    """A file that lies in the storage already."""

    model_config = ConfigDict(extra="forbid")

    upload_key: Annotated[str, Field(min_length=1, max_length=512)]
    mapping: Annotated[str, Field(min_length=1, max_length=100)]


class UploadIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size_bytes: Annotated[int, Field(gt=0, le=2**53)]


class UploadPlace(BaseModel):
    """Send the bytes to `url` with `method` and exactly these headers, then create the job with `upload_key`."""

    upload_key: str
    method: str
    url: str
    headers: dict[str, str]
    expires_at: datetime


class ConversionReceipt(BaseModel):
    job_id: UUID
    status: JobState


class ConversionError(BaseModel):
    error_code: str
    message: str


class ConversionView(BaseModel):
    job_id: UUID
    status: JobState
    mapping: str | None
    input_sha256: str | None
    input_size_bytes: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    attempt: int
    retry_count: int
    error: ConversionError | None
    gateway_code: str | None
    """What the gateway itself called its refusal, such as `PDF_ENCRYPTED`."""
    result_url: str | None
    result_path: str | None
    sha256: str | None
    size_bytes: int | None


class MappingView(BaseModel):
    name: str
    description: str


def conversion_view(detail: JobDetail) -> ConversionView:
    job = detail.job
    payload = job.payload if isinstance(job.payload, dict) else {}
    result = job.result if isinstance(job.result, dict) else {}
    error = (
        ConversionError(error_code=job.error_code, message=job.error_message or "")
        if job.error_code
        else None
    )
    return ConversionView(
        job_id=job.id,
        status=job.state,
        mapping=payload.get("mapping"),
        input_sha256=payload.get("sha256"),
        input_size_bytes=payload.get("size_bytes"),
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        expires_at=job.expires_at,
        attempt=job.attempt,
        retry_count=job.retry_count,
        error=error,
        gateway_code=code_in(job.error_message),
        result_url=f"/convert/jobs/{job.id}/result" if job.artifact_key else None,
        result_path=result.get("result_path"),
        sha256=result.get("sha256"),
        size_bytes=result.get("size_bytes"),
    )

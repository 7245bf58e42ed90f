"""Shapes of `/pdf`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from quire.jobs import JobDetail, JobState
from quire.render.application.create_pdf_job import DocumentRequest
from quire.render.application.verify_pdf import sha256_of
from quire.render.domain.render_options import RenderOptions
from quire.render.domain.template_pack import TemplatePack

Line = Annotated[str, Field(max_length=300)]
Wait = Annotated[float, Query(ge=0, le=30, description="Seconds to wait for the document to be done.")]


class OptionsIn(BaseModel):
    # Frozen: a default that can change is copied for every request.
    model_config = ConfigDict(extra="forbid", frozen=True)

    paper: Annotated[str, Field(max_length=20)] | None = None
    landscape: bool | None = None
    header: Line | None = None
    footer: Line | None = None
    title: Line | None = None
    author: Line | None = None
    subject: Line | None = None
    keywords: Line | None = None
    tagged: bool = False
    outline: bool = False


class PdfRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    template_name: Annotated[str, Field(min_length=1, max_length=100)]
    template_version: Annotated[str, Field(max_length=20)] | None = None
    payload: dict[str, Any]
    options: OptionsIn = OptionsIn()

    def wanted(self) -> DocumentRequest:
        options = RenderOptions(**self.options.model_dump())
        return DocumentRequest(self.template_name, self.payload, self.template_version, options)


class PdfReceipt(BaseModel):
    job_id: UUID
    status: JobState


class PdfError(BaseModel):
    error_code: str
    message: str


class PdfJobView(BaseModel):
    job_id: UUID
    status: JobState
    template_name: str | None
    template_version: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    attempt: int
    retry_count: int
    progress_percent: int | None
    error: PdfError | None
    download_url: str | None
    sha256: str | None
    pages: int | None
    blocked_urls: list[str]


class PdfVerification(BaseModel):
    sha256: str
    genuine: bool
    job: PdfJobView | None


class TemplateView(BaseModel):
    name: str
    title: str
    description: str
    versions: list[str]


class TemplateDetailView(TemplateView):
    payload_schema: dict[str, Any]
    sample: dict[str, Any]


def pdf_job_view(detail: JobDetail) -> PdfJobView:
    job = detail.job
    payload = job.payload if isinstance(job.payload, dict) else {}
    result = job.result if isinstance(job.result, dict) else {}
    error = PdfError(error_code=job.error_code, message=job.error_message or "") if job.error_code else None
    return PdfJobView(
        job_id=job.id,
        status=job.state,
        template_name=payload.get("template_name"),
        template_version=payload.get("template_version"),
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        expires_at=job.expires_at,
        attempt=job.attempt,
        retry_count=job.retry_count,
        progress_percent=job.progress_percent,
        error=error,
        download_url=f"/pdf/jobs/{job.id}/download" if job.artifact_key else None,
        sha256=sha256_of(detail),
        pages=result.get("pages"),
        blocked_urls=result.get("blocked_urls", []),
    )


def template_view(pack: TemplatePack, versions: list[str]) -> TemplateDetailView:
    return TemplateDetailView(
        name=pack.name,
        title=pack.manifest.title,
        description=pack.manifest.description,
        versions=versions,
        payload_schema=dict(pack.schema),
        sample=dict(pack.sample),
    )

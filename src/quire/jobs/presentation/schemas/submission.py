"""Requests for jobs, and their receipts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from quire.jobs.application.intake.enqueue_jobs import BATCH_MAX, DEPENDENCIES_MAX, JobRequest
from quire.jobs.application.intake.submit_jobs import WantedJob
from quire.jobs.domain.job import Receipt
from quire.jobs.domain.state import JobState
from quire.kernel import InvalidInputError

LONGEST_DELAY_SECONDS = 366 * 86400

SizeClass = Literal["small", "medium", "large", "xlarge"]
Label = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]{1,200}$")]


class JobSubmission(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Annotated[str, Field(min_length=1, max_length=100, examples=["jobs.echo"])]
    payload: dict[str, Any] = Field(default={}, description="What the kind takes.")
    queue: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Another of the kind's queues than its first."
    )
    size_class: SizeClass | None = Field(
        default=None, description="One of the kind's classes; smaller ones go first."
    )
    run_at: AwareDatetime | None = Field(
        default=None, description="Not before this time, a year ahead at most. The past counts as now."
    )
    delay_seconds: Annotated[float, Field(ge=0, le=LONGEST_DELAY_SECONDS)] | None = None
    depends_on: list[Annotated[str, Field(max_length=36)]] = Field(
        default=[],
        max_length=DEPENDENCIES_MAX,
        description="Ids of jobs to wait for. In a batch `#0` is its first job; only earlier ones can be named.",
    )
    unique: bool = Field(default=True, description="Equal kind and payload answer with the same job.")
    external_ref: Label | None = Field(default=None, description="The caller's own name for it.")
    document_id: Label | None = None

    def wanted(self) -> WantedJob:
        request = JobRequest(
            kind=self.kind,
            payload=self.payload,
            queue=self.queue,
            size_class=self.size_class,
            run_at=self._due_at(),
            unique=self.unique,
            document_id=self.document_id,
            external_ref=self.external_ref,
        )
        return WantedJob(request, tuple(self.depends_on))

    def _due_at(self) -> datetime | None:
        """Checked here and not by the schema, which cannot say it to a client."""
        if self.run_at is None:
            return _now() + timedelta(seconds=self.delay_seconds) if self.delay_seconds else None
        if self.delay_seconds is not None:
            raise InvalidInputError("give run_at or delay_seconds, not both", code="RUN_AT_INVALID")
        if self.run_at > _now() + timedelta(seconds=LONGEST_DELAY_SECONDS):
            raise InvalidInputError("run_at is more than a year ahead", code="RUN_AT_INVALID")
        return self.run_at


class BatchSubmission(BaseModel):
    model_config = ConfigDict(extra="forbid")

    jobs: list[JobSubmission] = Field(min_length=1, max_length=BATCH_MAX)


class ReceiptView(BaseModel):
    job_id: UUID
    status: JobState
    outcome: Literal["created", "existing"]


class BatchReceipt(BaseModel):
    results: list[ReceiptView] = Field(description="One a job, in the order of the request.")


def receipt_view(receipt: Receipt) -> ReceiptView:
    return ReceiptView(job_id=receipt.job_id, status=receipt.state, outcome=receipt.outcome)


def _now() -> datetime:
    return datetime.now(UTC)

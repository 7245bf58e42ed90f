"""A job as stored, as submitted and as claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal
from uuid import UUID

from quire.jobs.domain.state import JobState


@dataclass(slots=True)
class Submission:
    """A checked request for one job, ready to be stored. Not frozen only because that would triple the cost of making
    one; nobody changes it."""

    id: UUID
    kind: str
    queue: str
    priority: int
    tenant_id: str
    created_by: str
    payload_text: str
    job_key: bytes | None = None
    run_at: datetime | None = None
    depends_on: tuple[UUID, ...] = ()
    traceparent: str | None = None
    tenant_lane: bool = False
    document_id: str | None = None
    external_ref: str | None = None
    ttl_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to one submission, in the order of the submissions."""

    job_id: UUID
    outcome: Literal["created", "existing"]
    state: JobState
    artifact: Artifact | None = None
    """What an existing job has published, for who asked again."""


@dataclass(frozen=True, slots=True)
class Job:
    id: UUID
    state: JobState
    kind: str
    queue: str
    priority: int
    tenant_id: str
    created_by: str
    attempt: int
    retry_count: int
    crash_count: int
    fence: int
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
    job_key: bytes | None
    traceparent: str | None
    artifact_key: str | None
    document_id: str | None
    external_ref: str | None
    error_code: str | None
    error_message: str | None
    payload: object
    result: object


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One line of a job's timeline."""

    at: datetime
    from_state: JobState | None
    to_state: JobState
    attempt: int
    fence: int
    actor: str
    reason: str | None
    error_code: str | None
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class Artifact:
    key: str
    job_id: UUID
    content_type: str
    filename: str
    size_bytes: int
    sha256: str
    seconds_left: float | None = None
    """Until it expires, by the database's clock. None: it does not, or was not asked."""


@dataclass(frozen=True, slots=True)
class QueuePause:
    paused_at: datetime
    paused_by: str | None


@dataclass(frozen=True, slots=True)
class JobDetail:
    """A job with all that explains it."""

    job: Job
    events: Sequence[JobEvent]
    depends_on: Sequence[UUID] = ()
    artifact: Artifact | None = None
    pause: QueuePause | None = None
    """Of its queue, while the job is not started."""
    live_workers: int | None = None
    """How many serve its queue, while the job is not started."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    tenant_id: str | None
    visible_to: str | None = None
    states: tuple[JobState, ...] = ()
    kind: str | None = None
    queue: str | None = None
    before_id: UUID | None = None
    limit: int = 50
    with_payload: bool = False
    """And with the result: for kinds that keep both short."""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """What a queue holds now."""

    queue: str
    waiting: int = 0
    queued: int = 0
    scheduled: int = 0
    running: int = 0
    oldest_queued_seconds: float = 0.0
    paused_at: datetime | None = None
    paused_by: str | None = None
    live_workers: int = 0
    extra: Mapping[str, object] = field(default_factory=dict)

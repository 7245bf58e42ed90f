"""A state that a job reached, as told to whoever counts a kind's jobs."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from quire.jobs.domain.state import JobState


@dataclass(frozen=True, slots=True)
class Transition:
    kind: str
    state: JobState
    error_code: str | None = None
    age_seconds: float | None = None
    """Since the job was accepted, by the database's clock; None where nobody asked it."""
    job_id: UUID | None = None
    attempt: int | None = None
    duration_ms: int | None = None
    reason: str | None = None
    """Why a job that ran is queued again."""
    traceparent: str | None = None

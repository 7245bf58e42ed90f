"""A dead letter that needs a person, and what a person may decide."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

RETRY = "retry"
DISCARD = "discard"
# Closed by the engine itself when the child that caused it is tried again, or when it grew too old.
RELEASED = "released"
EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Problem:
    id: UUID
    job_id: UUID
    tenant_id: str
    document_id: str | None
    task_type: str
    queue: str
    error_code: str
    message: str
    attempts: int
    last_attempt_at: datetime | None
    trace_id: str | None
    external_ref: str | None
    recommendation: str
    user_decision: str | None
    decided_by: str | None
    decided_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ProblemFilter:
    tenant_id: str | None
    visible_to: str | None = None
    open_only: bool = True
    error_code: str | None = None
    queue: str | None = None
    before_id: UUID | None = None
    limit: int = 50


_ADVICE = {
    "WORKER_LOST": "The worker died three times on this job. Check its memory and crash logs before a retry.",
    "DEPENDENCY_FAILED": "A job it waits for failed. Decide on that one: its retry releases this job.",
    "UNKNOWN_KIND": "No handler for this kind is installed. Retry after the right version is deployed.",
    "PAYLOAD_UNDECODABLE": "The payload does not fit the kind. Discard it and send a corrected request.",
    "JOB_TIMEOUT": "The work took longer than the queue allows. Retry on a quiet system or raise the limit.",
    "DEFERRED_TOO_LONG": "No worker could do it. Start one that can (its message says what is missing), then retry.",
    "STORAGE_FULL": "The disk is full. Free space, then retry.",
    "STORAGE_UNMARKED": "The storage is not mounted, or not this installation's. Mount it, then retry.",
    "STORAGE_UNAVAILABLE": "Storage could not be reached. Check it with `quire doctor`, then retry.",
}


def recommend(error_code: str, *, transient: bool) -> str:
    if error_code in _ADVICE:
        return _ADVICE[error_code]
    if transient:
        return "All automatic retries failed. Check the system it depends on, then retry."
    return "This error does not go away by itself. Correct the cause, then retry, or discard."

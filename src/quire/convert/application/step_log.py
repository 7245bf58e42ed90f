"""One JSON line a step of a conversion, under names that people already search for. The job's id ties the lines of
the API and of every worker together."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

import structlog

from quire.jobs import JobState, Transition

Step = Literal["reclaim", "claim", "start", "gateway_ok", "gateway_error", "complete", "failed", "shutdown"]

log = structlog.get_logger(__name__)


def log_step(
    step: Step,
    *,
    job_id: UUID | None,
    status: JobState | None,
    attempt: int | None,
    duration_ms: int | None = None,
    gateway_status: int | None = None,
    error_code: str | None = None,
) -> None:
    log.info(
        step,
        job_id=str(job_id) if job_id else None,
        status=str(status) if status else None,
        duration_ms=duration_ms,
        attempt=attempt,
        gateway_status=gateway_status,
        error_code=error_code,
    )


def log_transition(moved: Transition) -> None:
    """What the engine wrote down, once it is written. A failed attempt that is tried again is `failed` with the
    status `queued`."""
    step = _step_of(moved)
    if step is not None and moved.attempt is not None:
        log_step(
            step,
            job_id=moved.job_id,
            status=moved.state,
            attempt=moved.attempt,
            duration_ms=moved.duration_ms,
            error_code=moved.error_code,
        )


def _step_of(moved: Transition) -> Step | None:
    if moved.state is JobState.RUNNING:
        return "claim"
    if moved.state is JobState.SUCCEEDED:
        return "complete"
    if moved.reason == "lease_expired":
        return "reclaim"
    if moved.reason == "shutdown":
        return "shutdown"
    return "failed" if moved.error_code else None

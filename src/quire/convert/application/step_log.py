"""One JSON line a step of a conversion, under names that people already search for. The job's id ties the lines of
the API and of every worker together."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

import structlog

from quire.jobs import JobState, Transition

Step = Literal[
    "accepted",
    "reclaim",
    "claim",
    "start",
    "gateway_ok",
    "gateway_error",
    "held",
    "complete",
    "failed",
    "shutdown",
]

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
    trace_id: str | None = None,
) -> None:
    """`trace_id` where nobody runs inside of the job's span."""
    traced = {"trace_id": trace_id} if trace_id else {}
    log.info(
        step,
        job_id=str(job_id) if job_id else None,
        status=str(status) if status else None,
        duration_ms=duration_ms,
        attempt=attempt,
        gateway_status=gateway_status,
        error_code=error_code,
        **traced,
    )


def log_transition(moved: Transition) -> None:
    """What the engine wrote down, once it is written. A failed attempt that is tried again is `failed` with the
    status `queued`; one that was given up after its worker died once too often is first `reclaim`."""
    for step in _steps_of(moved):
        log_step(
            step,
            job_id=moved.job_id,
            status=moved.state,
            attempt=moved.attempt,
            duration_ms=moved.duration_ms,
            error_code=moved.error_code,
            trace_id=_trace_id(moved.traceparent),
        )


def _steps_of(moved: Transition) -> tuple[Step, ...]:
    if moved.attempt is None:
        return ()
    if moved.state is JobState.RUNNING:
        return ("claim",)
    if moved.state is JobState.SUCCEEDED:
        return ("complete",)
    if moved.reason == "lease_expired":
        return ("reclaim", "failed") if moved.error_code else ("reclaim",)
    if moved.reason == "shutdown":
        return ("shutdown",)
    if moved.reason == "held":
        return ("held",)
    if moved.error_code:
        return ("failed",)
    return ("accepted",) if moved.state is JobState.QUEUED and moved.attempt == 0 else ()


def _trace_id(traceparent: str | None) -> str | None:
    return traceparent.split("-")[1] if traceparent else None

"""One line in the worker's log for each failed attempt, whatever its kind. Without the message, which may quote a
document; the job has it."""

from __future__ import annotations

import structlog

from quire.jobs.application.transitions import is_logged
from quire.jobs.domain.outcome import Failed
from quire.jobs.domain.state import JobState

log = structlog.get_logger(__name__)


def log_failure(failed: Failed, status: JobState) -> None:
    """`status`: what becomes of the job; `queued` is tried again."""
    lease = failed.lease
    if is_logged(lease.kind):
        return
    traced = {"trace_id": lease.traceparent.split("-")[1]} if lease.traceparent else {}
    log.warning(
        "attempt_failed",
        job_id=str(lease.job_id),
        kind=lease.kind,
        status=str(status),
        error_code=failed.error_code,
        attempt=lease.attempt,
        duration_ms=failed.duration_ms,
        **traced,
    )

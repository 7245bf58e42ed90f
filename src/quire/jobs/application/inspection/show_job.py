"""One job with all that explains it, now or as soon as it has ended."""

from __future__ import annotations

from uuid import UUID

from quire.jobs.application.inspection.caller_sight import sight_of
from quire.jobs.application.inspection.completion_watch import CompletionWatch
from quire.jobs.domain.errors import JobNotFoundError
from quire.jobs.domain.job import JobDetail
from quire.jobs.domain.state import ENDED_STATES
from quire.jobs.ports.v1.job_board import JobBoard
from quire.runtime.auth import Principal


async def show_job(
    board: JobBoard, watch: CompletionWatch, caller: Principal, job_id: UUID, *, wait_seconds: float = 0.0
) -> JobDetail:
    """No connection is held while waiting."""
    sight = sight_of(caller)
    if wait_seconds > 0:
        job = await board.get(job_id, sight)
        if job is not None and job.state not in ENDED_STATES:
            await watch.wait(job_id, wait_seconds)
    detail = await board.detail(job_id, sight)
    if detail is None:
        raise JobNotFoundError(f"no job {job_id}")
    return detail

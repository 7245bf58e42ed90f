"""The artifact of a job, for who may have its bytes."""

from __future__ import annotations

from uuid import UUID

from quire.jobs.application.inspection.artifact_access import may_have_bytes
from quire.jobs.application.inspection.caller_sight import sight_of
from quire.jobs.domain.errors import ArtifactNotFoundError, ArtifactNotYoursError, JobNotFoundError
from quire.jobs.domain.job import JobDetail
from quire.jobs.domain.state import ENDED_STATES
from quire.jobs.ports.v1.job_board import JobBoard
from quire.runtime.auth import Principal


async def find_artifact(board: JobBoard, caller: Principal, job_id: UUID) -> JobDetail:
    """The job; its artifact is None while it may still produce one. ArtifactNotFoundError when it will not,
    ArtifactNotYoursError for who sees the job and may not have its bytes."""
    detail = await board.detail(job_id, sight_of(caller))
    if detail is None:
        raise JobNotFoundError(f"no job {job_id}")
    if not await may_have_bytes(board, caller, detail.job):
        raise ArtifactNotYoursError("only its creator, those who asked for the same, and admins may have it")
    if detail.artifact is None and detail.job.state in ENDED_STATES:
        raise ArtifactNotFoundError(_reason(detail), extra={"state": detail.job.state})
    return detail


def _reason(detail: JobDetail) -> str:
    job = detail.job
    return f"the job is {job.state}" + (f" with {job.error_code}" if job.error_code else "")

"""The job that made these bytes, if the caller may have them."""

from __future__ import annotations

from quire.jobs.application.inspection.artifact_access import bytes_sight_of
from quire.jobs.domain.job import JobDetail
from quire.jobs.ports.v1.job_board import JobBoard
from quire.runtime.auth import Principal


async def find_job_of_sha256(board: JobBoard, caller: Principal, sha256: str, kind: str) -> JobDetail | None:
    sight = bytes_sight_of(caller)
    job_id = await board.of_sha256(sha256, kind, sight)
    return None if job_id is None else await board.detail(job_id, sight)

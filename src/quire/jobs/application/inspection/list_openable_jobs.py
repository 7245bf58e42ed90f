"""Jobs whose bytes a caller may have, newest first: whatever this list holds can then be opened."""

from __future__ import annotations

from dataclasses import replace

from quire.jobs.application.inspection.artifact_access import bytes_sight_of
from quire.jobs.domain.job import Job, JobFilter
from quire.jobs.ports.v1.job_board import JobBoard
from quire.runtime.auth import Principal


async def list_openable_jobs(board: JobBoard, caller: Principal, wanted: JobFilter) -> list[Job]:
    sight = bytes_sight_of(caller)
    return await board.list_jobs(replace(wanted, tenant_id=sight.tenant_id, visible_to=sight.principal_id))

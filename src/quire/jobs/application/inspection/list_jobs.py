"""Jobs in a caller's sight, newest first."""

from __future__ import annotations

from dataclasses import replace

from quire.jobs.application.inspection.caller_sight import sight_of
from quire.jobs.domain.job import Job, JobFilter
from quire.jobs.ports.v1.job_board import JobBoard
from quire.runtime.auth import Principal


async def list_jobs(board: JobBoard, caller: Principal, wanted: JobFilter) -> list[Job]:
    """`wanted.tenant_id` narrows what the caller sees; it never widens it."""
    sight = sight_of(caller, wanted.tenant_id)
    return await board.list_jobs(replace(wanted, tenant_id=sight.tenant_id, visible_to=sight.principal_id))

"""The one rule on who may have a job's bytes: its creator, whoever asked for the same work, and an admin of its tenant
(with the scope platform: of any tenant). Operators see what became of a job, and not the document it made."""

from __future__ import annotations

from quire.jobs.domain.job import Job
from quire.jobs.ports.v1.job_board import JobBoard, Sight
from quire.runtime.auth import PLATFORM_SCOPE, Principal


def bytes_sight_of(caller: Principal) -> Sight:
    """The jobs whose bytes the caller may have, in the form that every query takes."""
    if not caller.has_role("admin"):
        return Sight(caller.tenant_id, caller.id)
    return Sight(None if caller.has_scope(PLATFORM_SCOPE) else caller.tenant_id)


async def may_have_bytes(board: JobBoard, caller: Principal, job: Job) -> bool:
    """Asks the database only about those who did not create the job and are no admin: they may share it."""
    sight = bytes_sight_of(caller)
    if sight.tenant_id not in (None, job.tenant_id):
        return False
    if sight.principal_id in (None, job.created_by):
        return True
    return bool(await board.visible_among([job.id], sight))

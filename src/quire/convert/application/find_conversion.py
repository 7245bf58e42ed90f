"""A conversion, for who may have it: its creator, whoever asked for the same, an admin of the tenant."""

from __future__ import annotations

from uuid import UUID

from quire.convert.domain.conversion import KIND
from quire.jobs import JobBoard, JobDetail, JobNotFoundError, Sight, may_have_bytes
from quire.kernel import ForbiddenError
from quire.runtime.auth import PLATFORM_SCOPE, Principal


async def find_conversion(board: JobBoard, caller: Principal, job_id: str) -> JobDetail:
    """404 for an unknown, malformed or foreign tenant's id; 403 for a neighbour's file."""
    tenant = None if caller.has_scope(PLATFORM_SCOPE) else caller.tenant_id
    try:
        detail = await board.outcome(UUID(job_id), Sight(tenant))
    except ValueError:
        detail = None
    if detail is None or detail.job.kind != KIND:
        raise JobNotFoundError(f"no conversion {job_id[:60]}")
    if not await may_have_bytes(board, caller, detail.job):
        raise ForbiddenError("this conversion belongs to another user", code="CONVERSION_NOT_YOURS")
    return detail

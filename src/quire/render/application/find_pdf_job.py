"""A document's job, for who may have it: its creator, whoever asked for the same, an admin of the tenant."""

from __future__ import annotations

from uuid import UUID

from quire.jobs import JobBoard, JobDetail, JobNotFoundError, Sight, may_have_bytes
from quire.kernel import ForbiddenError
from quire.render.application.create_pdf_job import KIND
from quire.runtime.auth import PLATFORM_SCOPE, Principal


async def find_pdf_job(
    board: JobBoard, caller: Principal, job_id: str, *, with_payload: bool = True
) -> JobDetail:
    """404 for an unknown, malformed or foreign tenant's id; 403 for a neighbour's document."""
    tenant = None if caller.has_scope(PLATFORM_SCOPE) else caller.tenant_id
    try:
        detail = await board.outcome(UUID(job_id), Sight(tenant), with_payload=with_payload)
    except ValueError:
        detail = None
    if detail is None or detail.job.kind != KIND:
        raise JobNotFoundError(f"no document job {job_id[:60]}")
    if not await may_have_bytes(board, caller, detail.job):
        raise ForbiddenError("this document belongs to another user", code="DOCUMENT_NOT_YOURS")
    return detail

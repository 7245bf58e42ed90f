"""Cancel a job: a user gives up their own interest in it, an operator ends it for all."""

from __future__ import annotations

from uuid import UUID

from quire.jobs.application.inspection.caller_sight import sight_of
from quire.jobs.domain.errors import JobNotFoundError
from quire.jobs.ports.v1.broker import CANCEL, ENDED, Broker
from quire.jobs.ports.v1.job_board import CancelOutcome, JobBoard
from quire.runtime.auth import Principal

_NEWS = {"cancelling": CANCEL, "cancelled": ENDED}


async def cancel_job(board: JobBoard, broker: Broker, caller: Principal, job_id: UUID) -> CancelOutcome:
    outcome = await board.cancel(job_id, sight_of(caller), caller.id, force=caller.has_role("operator"))
    if outcome is None:
        raise JobNotFoundError(f"no job {job_id}")
    if outcome in _NEWS:
        broker.announce(_NEWS[outcome])
    return outcome

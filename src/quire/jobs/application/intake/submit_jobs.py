"""A caller's request for jobs: what may wait for what, then through the one intake."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from quire.jobs.application.inspection.caller_sight import sight_of
from quire.jobs.application.intake.enqueue_jobs import Intake, JobRequest, enqueue_jobs
from quire.jobs.domain.errors import DependencyUnusableError
from quire.jobs.domain.job import Receipt
from quire.jobs.ports.v1.job_board import JobBoard
from quire.kernel import InvalidInputError, is_uuid, new_uuid7, sha256_of
from quire.runtime.auth import Principal

# A place in the same batch: "#0" is its first job.
_PLACE = re.compile(r"#(0|[1-9][0-9]{0,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class WantedJob:
    """`waits_for`: ids of stored jobs, or `#n` for an earlier job of the same batch."""

    request: JobRequest
    waits_for: tuple[str, ...] = ()


async def submit_jobs(
    intake: Intake, board: JobBoard, caller: Principal, wanted: Sequence[WantedJob]
) -> list[Receipt]:
    """All or none, one receipt each in order. Only kinds open to everybody, only jobs in sight to wait for."""
    requests = _linked(wanted)
    await _check_in_sight(board, caller, requests)
    return await enqueue_jobs(
        intake, requests, tenant_id=caller.tenant_id, created_by=caller.id, public_only=True
    )


def _linked(wanted: Sequence[WantedJob]) -> list[JobRequest]:
    requests: list[JobRequest] = []
    marks: list[str] = []
    for place, item in enumerate(wanted):
        request = replace(item.request, job_id=new_uuid7())
        if item.waits_for:
            request = _waiting(request, item.waits_for, requests, marks, place)
        requests.append(request)
        marks.append(_mark(request))
    return requests


def _waiting(
    request: JobRequest,
    waits_for: Sequence[str],
    earlier: Sequence[JobRequest],
    marks: Sequence[str],
    place: int,
) -> JobRequest:
    """What a job waits for is part of its identity; a job of the batch counts by its content there, so that a
    batch sent twice is the same work."""
    ids, after = [], []
    for name in waits_for:
        index = _index_of(name, place)
        job_id = UUID(name) if index is None else earlier[index].job_id
        assert job_id is not None
        ids.append(job_id)
        after.append(str(job_id) if index is None else marks[index])
    return replace(request, depends_on=tuple(ids), parameters={**request.parameters, "after": sorted(after)})


def _index_of(name: str, place: int) -> int | None:
    match = _PLACE.fullmatch(name)
    if match is None:
        if is_uuid(name):
            return None
        raise InvalidInputError("depends_on takes job ids and, in a batch, `#n`", code="DEPENDENCY_INVALID")
    if int(match[1]) >= place:
        raise InvalidInputError(f"job #{place} may only wait for earlier ones", code="DEPENDENCY_INVALID")
    return int(match[1])


def _mark(request: JobRequest) -> str:
    if not request.unique:
        return str(request.job_id)
    return sha256_of(request.kind, dict(request.payload), dict(request.parameters)).hex()


async def _check_in_sight(board: JobBoard, caller: Principal, requests: Sequence[JobRequest]) -> None:
    """Another's job is as good as none: its existence is not told."""
    own = {request.job_id for request in requests}
    stored = {job_id for request in requests for job_id in request.depends_on} - own
    if not stored:
        return
    unseen = stored - await board.visible_among(list(stored), sight_of(caller, caller.tenant_id))
    if unseen:
        raise DependencyUnusableError(f"no job {min(unseen)} to wait for")

"""What a test reads of single jobs between the audits."""

from __future__ import annotations

from collections.abc import Callable, Collection
from uuid import UUID

from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.jobs import Job, JobEvent
from quire.jobs.domain.problem import Problem, ProblemFilter
from quire.jobs.ports.v1.job_board import Sight

EVERYTHING = Sight(None)


async def job_of(engine: Engine, job_id: UUID) -> Job:
    job = await engine.board.get(job_id, EVERYTHING)
    assert job is not None
    return job


async def timeline_of(engine: Engine, job_id: UUID) -> list[JobEvent]:
    detail = await engine.board.detail(job_id, EVERYTHING)
    assert detail is not None
    return list(detail.events)


async def problem_of(engine: Engine, job_id: UUID) -> Problem:
    """The one open problem of a job."""
    found = await engine.problems.list_problems(ProblemFilter(None, limit=500))
    (problem,) = [problem for problem in found if problem.job_id == job_id]
    return problem


async def each_reaches(
    engine: Engine,
    job_ids: Collection[UUID],
    wanted: Callable[[Job], bool],
    what: str,
    *,
    within_seconds: float = 30.0,
) -> None:
    async def probe() -> bool:
        return all([wanted(await job_of(engine, job_id)) for job_id in job_ids])

    await eventually(probe, what, within_seconds=within_seconds)

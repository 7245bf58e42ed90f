"""One problem in a caller's sight."""

from __future__ import annotations

from uuid import UUID

from quire.jobs.application.inspection.caller_sight import sight_of
from quire.jobs.domain.errors import ProblemNotFoundError
from quire.jobs.domain.problem import Problem
from quire.jobs.ports.v1.job_board import ProblemLog
from quire.runtime.auth import Principal


async def show_problem(problems: ProblemLog, caller: Principal, problem_id: UUID) -> Problem:
    problem = await problems.get(problem_id, sight_of(caller))
    if problem is None:
        raise ProblemNotFoundError(f"no problem {problem_id}")
    return problem

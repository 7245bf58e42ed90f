"""Approve the restart of a dead letter, named by its job."""

from __future__ import annotations

from uuid import UUID

from quire.jobs.application.inspection.caller_sight import sight_of
from quire.jobs.application.problems.decide_problem import decide_problem
from quire.jobs.application.problems.decision_registry import DecisionRegistry
from quire.jobs.domain.errors import JobNotFoundError, JobStateConflictError
from quire.jobs.domain.problem import RETRY, Problem
from quire.jobs.ports.v1.broker import Broker
from quire.jobs.ports.v1.job_board import JobBoard, ProblemLog
from quire.runtime.auth import Principal


async def retry_job(
    board: JobBoard,
    problems: ProblemLog,
    decisions: DecisionRegistry,
    broker: Broker,
    caller: Principal,
    job_id: UUID,
) -> Problem:
    job = await board.get(job_id, sight_of(caller))
    if job is None:
        raise JobNotFoundError(f"no job {job_id}")
    problem_id = await problems.open_of_job(job_id)
    if problem_id is None:
        raise JobStateConflictError(
            f"the job is {job.state} and has no open problem: only dead letters are retried. To have this work "
            "done again, submit it once more; where it succeeded already, with `unique: false`",
            extra={"state": job.state},
        )
    return await decide_problem(problems, decisions, broker, caller, problem_id, RETRY)

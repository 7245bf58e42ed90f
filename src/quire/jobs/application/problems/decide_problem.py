"""A person's decision about one problem. Whoever sees the problem may decide it."""

from __future__ import annotations

from uuid import UUID

from quire.jobs.application.problems.decision_registry import DecisionRegistry
from quire.jobs.application.problems.show_problem import show_problem
from quire.jobs.application.transitions import note_transition
from quire.jobs.domain.problem import DISCARD, RETRY, Problem
from quire.jobs.domain.state import JobState
from quire.jobs.domain.transition import Transition
from quire.jobs.ports.v1.broker import Broker
from quire.jobs.ports.v1.job_board import ProblemLog
from quire.runtime.auth import Principal

_MOVES = {RETRY: JobState.QUEUED, DISCARD: JobState.EXPIRED}


async def decide_problem(
    problems: ProblemLog,
    decisions: DecisionRegistry,
    broker: Broker,
    caller: Principal,
    problem_id: UUID,
    decision: str,
) -> Problem:
    """The problem as decided. Raises NewerJobExistsError when a restart would double newer work."""
    problem = await show_problem(problems, caller, problem_id)
    chosen = decisions.find(decision, problem.task_type)
    await chosen.apply(problem, caller.id)
    if chosen.name in _MOVES:
        note_transition(Transition(problem.task_type, _MOVES[chosen.name]))
    broker.announce(chosen.announces)
    return await show_problem(problems, caller, problem_id)

"""One decision about many problems: each on its own, so one refusal does not hold up the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from quire.jobs.application.problems.decide_problem import decide_problem
from quire.jobs.application.problems.decision_registry import DecisionRegistry
from quire.jobs.domain.errors import UnknownDecisionError
from quire.jobs.ports.v1.broker import Broker
from quire.jobs.ports.v1.job_board import ProblemLog
from quire.kernel import QuireError, UnavailableError, there_is
from quire.runtime.auth import Principal

DECIDE_MAX = 500


@dataclass(frozen=True, slots=True)
class Verdict:
    """`error` is None when the decision was taken."""

    problem_id: UUID
    job_id: UUID | None = None
    error: QuireError | None = None


async def decide_problems(
    problems: ProblemLog,
    decisions: DecisionRegistry,
    broker: Broker,
    caller: Principal,
    problem_ids: Sequence[UUID],
    decision: str,
) -> list[Verdict]:
    """One verdict an id, in order."""
    if decision not in decisions:
        known = there_is(decisions.names(), decision)
        raise UnknownDecisionError(f"no decision named {decision[:100]!r}; {known}")
    verdicts = []
    for problem_id in problem_ids:
        try:
            decided = await decide_problem(problems, decisions, broker, caller, problem_id, decision)
            verdicts.append(Verdict(problem_id, decided.job_id))
        except UnavailableError:
            # Not an answer about this problem: the caller sends the rest again.
            raise
        except QuireError as error:
            verdicts.append(Verdict(problem_id, error=error))
    return verdicts

"""Decisions that a kind brings beside `retry` and `discard`."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.engine_fixture import (
    bury,
    claim_one,
    enqueue_one,
    opened_engine,
    problem_of,
    run_sql,
)

from quire.jobs.application.problems.decide_problem import decide_problem
from quire.jobs.application.problems.decision_registry import DecisionRegistry
from quire.jobs.domain.errors import UnknownDecisionError
from quire.jobs.domain.problem import Problem
from quire.jobs.ports.v1.broker import ENDED
from quire.jobs.ports.v1.decision import Decision
from quire.runtime.auth import Principal

OPERATOR = Principal(token_id="1", user="olga", tenant_id="acme", role="operator")


async def test_decision_of_a_kind_is_offered_for_that_kind_alone(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:

        async def accept(problem: Problem, actor: str) -> None:
            sql = "UPDATE problems SET user_decision = 'accept', decided_by = $2, decided_at = now() WHERE id = $1"
            await run_sql(engine, sql, problem.id, actor)

        decisions = DecisionRegistry(engine.problems, [Decision("accept", accept, ENDED, kinds="jobs.ec*")])
        problems = {}
        for kind in ("jobs.echo", "jobs.noop"):
            job_id, worker_id = await enqueue_one(engine, kind), uuid4()
            await bury(engine, worker_id, await claim_one(engine, worker_id))
            problems[kind] = await problem_of(engine, job_id)
        assert decisions.names_for("jobs.echo") == ["retry", "discard", "accept"]
        decided = await decide_problem(
            engine.problems, decisions, engine.broker, OPERATOR, problems["jobs.echo"].id, "accept"
        )
        assert (decided.user_decision, decided.decided_by) == ("accept", "acme/olga")
        with pytest.raises(UnknownDecisionError, match="retry, discard"):
            await decide_problem(
                engine.problems, decisions, engine.broker, OPERATOR, problems["jobs.noop"].id, "accept"
            )

"""Problems in a caller's sight, newest first."""

from __future__ import annotations

from dataclasses import replace

from quire.jobs.application.inspection.caller_sight import sight_of
from quire.jobs.domain.problem import Problem, ProblemFilter
from quire.jobs.ports.v1.job_board import ProblemLog
from quire.runtime.auth import Principal


async def list_problems(problems: ProblemLog, caller: Principal, wanted: ProblemFilter) -> list[Problem]:
    """`wanted.tenant_id` narrows what the caller sees; it never widens it."""
    sight = sight_of(caller, wanted.tenant_id)
    return await problems.list_problems(
        replace(wanted, tenant_id=sight.tenant_id, visible_to=sight.principal_id)
    )

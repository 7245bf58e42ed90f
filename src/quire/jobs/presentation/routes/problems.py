"""`/problems`: the Problem Log, and people's decisions in it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from quire.jobs.application.problems.decide_problem import decide_problem
from quire.jobs.application.problems.decide_problems import DECIDE_MAX, decide_problems
from quire.jobs.application.problems.list_problems import list_problems
from quire.jobs.application.problems.show_problem import show_problem
from quire.jobs.domain.problem import Problem, ProblemFilter
from quire.jobs.presentation.routes.desk import JobDesk
from quire.jobs.presentation.schemas.problem import (
    DecisionRequest,
    DecisionsRequest,
    ProblemView,
    VerdictsView,
    problem_view,
    verdict_view,
)
from quire.runtime.auth import Principal
from quire.runtime.http import CurrentPrincipal, Page, PageCursor, PageLimit, StrictRoute
from quire.runtime.http.position import TenantFilter, before_id, next_cursor

Name = Annotated[str | None, Query(min_length=1, max_length=100)]


def problem_routes(desk: JobDesk) -> APIRouter:
    router = APIRouter(tags=["problems"], route_class=StrictRoute)

    @router.get("/problems", name="list_problems")
    async def list_(
        caller: CurrentPrincipal,
        decided: Annotated[bool, Query(description="Also those already decided.")] = False,
        error_code: Name = None,
        queue: Name = None,
        tenant: TenantFilter = None,
        limit: PageLimit = 50,
        cursor: PageCursor = None,
    ) -> Page[ProblemView]:
        """Newest first; open ones unless `decided`."""
        wanted = ProblemFilter(
            tenant,
            open_only=not decided,
            error_code=error_code,
            queue=queue,
            before_id=before_id(cursor),
            limit=limit,
        )
        problems = await list_problems(desk.problems, caller, wanted)
        return Page(items=[_view(desk, item) for item in problems], next_cursor=next_cursor(problems, limit))

    @router.post("/problems/decide", name="decide_problems")
    async def decide_many(caller: CurrentPrincipal, request: DecisionsRequest) -> VerdictsView:
        """Each problem is decided on its own; the answer tells what became of every one."""
        request.check()
        ids = request.ids or [problem.id for problem in await _selected(desk, caller, request)]
        verdicts = await decide_problems(
            desk.problems, desk.decisions, desk.broker, caller, list(dict.fromkeys(ids)), request.decision
        )
        more = request.filter is not None and len(ids) == DECIDE_MAX
        return VerdictsView(results=[verdict_view(verdict) for verdict in verdicts], more=more)

    @router.get("/problems/{problem_id:uuid}", name="show_problem")
    async def show(caller: CurrentPrincipal, problem_id: UUID) -> ProblemView:
        return _view(desk, await show_problem(desk.problems, caller, problem_id))

    @router.post("/problems/{problem_id:uuid}/decide", name="decide_problem")
    async def decide(caller: CurrentPrincipal, problem_id: UUID, request: DecisionRequest) -> ProblemView:
        """409 NEWER_JOB_EXISTS with its `job_id` when a newer job does the same work."""
        decided = await decide_problem(
            desk.problems, desk.decisions, desk.broker, caller, problem_id, request.decision
        )
        return _view(desk, decided)

    return router


def _view(desk: JobDesk, problem: Problem) -> ProblemView:
    return problem_view(problem, desk.decisions.names_for(problem.task_type))


async def _selected(desk: JobDesk, caller: Principal, request: DecisionsRequest) -> list[Problem]:
    assert request.filter is not None
    wanted = ProblemFilter(
        None, error_code=request.filter.error_code, queue=request.filter.queue, limit=DECIDE_MAX
    )
    return await list_problems(desk.problems, caller, wanted)

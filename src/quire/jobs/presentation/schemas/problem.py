"""Problems and decisions as the API shows and takes them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from quire.jobs.application.problems.decide_problems import DECIDE_MAX, Verdict
from quire.jobs.domain.problem import Problem
from quire.kernel import InvalidInputError

DecisionName = Annotated[
    str,
    Field(pattern=r"^[a-z][a-z0-9_]{0,60}$", description="`retry`, `discard`, or one that the kind brings."),
]
ShortText = Annotated[str, Field(min_length=1, max_length=100)]


class ProblemView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    job_id: UUID
    tenant_id: str
    document_id: str | None
    task_type: str
    queue: str
    error_code: str
    message: str
    attempts: int
    last_attempt_at: datetime | None
    trace_id: str | None
    external_ref: str | None
    recommendation: str
    user_decision: str | None
    decided_by: str | None
    decided_at: datetime | None
    created_at: datetime
    decisions: list[str] = Field(default=[], description="What may be decided now.")


class DecisionRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    decision: DecisionName


class ProblemSelection(BaseModel):
    model_config = ConfigDict(extra="forbid")

    error_code: ShortText | None = None
    queue: ShortText | None = None


class DecisionsRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    decision: DecisionName
    ids: Annotated[list[UUID], Field(min_length=1, max_length=DECIDE_MAX)] | None = None
    filter: ProblemSelection | None = Field(
        default=None, description=f"The newest {DECIDE_MAX} open problems that fit."
    )

    def check(self) -> None:
        """Here and not in the schema, which cannot say it to a client."""
        if (self.ids is None) == (self.filter is None):
            raise InvalidInputError("give ids or filter, one of them", code="SELECTION_INVALID")
        if self.filter is not None and self.filter.error_code is None and self.filter.queue is None:
            raise InvalidInputError("a filter names an error_code, a queue or both", code="SELECTION_INVALID")


class VerdictView(BaseModel):
    id: UUID
    ok: bool
    job_id: UUID | None = Field(description="The job; after NEWER_JOB_EXISTS the newer one.")
    error_code: str | None = None
    detail: str | None = None


class VerdictsView(BaseModel):
    results: list[VerdictView]
    more: bool = Field(description="With a filter: there may be more that fit; ask again.")


def problem_view(problem: Problem, decisions: list[str]) -> ProblemView:
    view = ProblemView.model_validate(problem)
    view.decisions = decisions if problem.user_decision is None else []
    return view


def verdict_view(verdict: Verdict) -> VerdictView:
    if verdict.error is None:
        return VerdictView(id=verdict.problem_id, ok=True, job_id=verdict.job_id)
    newer = verdict.error.extra.get("job_id")
    return VerdictView(
        id=verdict.problem_id,
        ok=False,
        job_id=UUID(str(newer)) if newer else None,
        error_code=verdict.error.code,
        detail=verdict.error.detail,
    )

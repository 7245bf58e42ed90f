"""What a person may decide about a problem. The engine has `retry` and `discard`; kinds bring more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from quire.jobs.domain.problem import Problem


@dataclass(frozen=True, slots=True)
class Decision:
    """`apply(problem, actor)` SHALL write the decision and what follows from it in one transaction, and SHALL raise
    PROBLEM_ALREADY_DECIDED, changing nothing, when another decision came first."""

    name: str
    apply: Callable[[Problem, str], Awaitable[None]]
    announces: str
    """The broker topic to announce after the commit."""
    kinds: str = "*"
    """Name or pattern of the kinds it is offered for."""

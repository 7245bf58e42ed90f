"""The decisions that people may take, by name and kind."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

from quire.jobs.domain.errors import UnknownDecisionError
from quire.jobs.domain.problem import DISCARD, RETRY
from quire.jobs.ports.v1.broker import ENDED, WORK
from quire.jobs.ports.v1.decision import Decision
from quire.jobs.ports.v1.job_board import ProblemLog


class DecisionRegistry:
    def __init__(self, problems: ProblemLog, more: Iterable[Decision] = ()) -> None:
        own = [Decision(RETRY, problems.retry, WORK), Decision(DISCARD, problems.discard, ENDED)]
        self._decisions = [*own, *more]

    def find(self, name: str, kind: str) -> Decision:
        for decision in self._decisions:
            if decision.name == name and fnmatch.fnmatchcase(kind, decision.kinds):
                return decision
        raise UnknownDecisionError(f"{kind} takes one of: {', '.join(self.names_for(kind))}")

    def names_for(self, kind: str) -> list[str]:
        return [item.name for item in self._decisions if fnmatch.fnmatchcase(kind, item.kinds)]

    def names(self) -> frozenset[str]:
        return frozenset(decision.name for decision in self._decisions)

    def __contains__(self, name: str) -> bool:
        return name in self.names()

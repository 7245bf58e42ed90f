"""The shared health of external systems, as outcomes of jobs move it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from quire.jobs.domain.breaker import BreakerState
from quire.jobs.domain.throttle import IntegrationPolicy


@dataclass(frozen=True, slots=True)
class IntegrationStatus:
    name: str
    breaker: BreakerState
    changed_at: datetime
    tokens: float | None
    successes: int
    failures: int


class IntegrationGate(Protocol):
    async def record(
        self, policy: IntegrationPolicy, *, failed: bool, probe: bool, outage: bool = False
    ) -> BreakerState:
        """SHALL count the outcome in the window that all workers share and return the breaker's state after it.
        A failure that is an outage SHALL open the breaker whatever the window holds."""
        ...

    async def status(self) -> Sequence[IntegrationStatus]: ...

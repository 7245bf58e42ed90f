"""Circuit breaker in hold-queue mode: while it is open, jobs of its integration stay queued."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BreakerState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    failure_codes: frozenset[str]
    window_seconds: float = 60.0
    minimum_calls: int = 5
    failure_ratio: float = 0.5
    open_seconds: float = 30.0

    def trips(self, successes: int, failures: int) -> bool:
        calls = successes + failures
        return calls >= self.minimum_calls and failures >= self.failure_ratio * calls


def state_after(
    policy: BreakerPolicy,
    state: BreakerState,
    successes: int,
    failures: int,
    *,
    probe: bool,
    failed: bool,
    outage: bool = False,
) -> BreakerState:
    """The state after one outcome. Who knows that the integration does not answer at all (`outage`) need not wait for
    the window to fill: every further call would burn another job's attempt. Only the probe's outcome moves a
    half-open breaker: a late failure of a job that started before the breaker opened says nothing about how the
    integration is now."""
    if state is BreakerState.HALF_OPEN:
        if not probe:
            return state
        return BreakerState.OPEN if failed else BreakerState.CLOSED
    if state is BreakerState.CLOSED and failed and (outage or policy.trips(successes, failures)):
        return BreakerState.OPEN
    return state

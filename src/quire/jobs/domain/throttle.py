"""How many jobs of an integration may start now: token bucket, concurrency cap, breaker."""

from __future__ import annotations

import math
from dataclasses import dataclass

from quire.jobs.domain.breaker import BreakerPolicy, BreakerState


@dataclass(frozen=True, slots=True)
class IntegrationPolicy:
    name: str
    rate_per_second: float | None = None
    burst: int = 1
    max_concurrency: int | None = None
    breaker: BreakerPolicy | None = None


@dataclass(frozen=True, slots=True)
class IntegrationState:
    """The shared row, read under its lock, with the database's own measure of time passed."""

    tokens: float | None
    seconds_since_refill: float
    breaker: BreakerState
    seconds_since_change: float
    probe_pending: bool
    running: int


@dataclass(frozen=True, slots=True)
class Allowance:
    jobs: int
    tokens: float | None
    half_open: bool = False
    retry_after_seconds: float | None = None


def allow(policy: IntegrationPolicy, state: IntegrationState, wanted: int) -> Allowance:
    """Pure: callers serialise on the row, so the answer cannot be overrun by a racing worker."""
    tokens = refill(policy, state)
    limit = wanted
    wait: float | None = None
    if policy.max_concurrency is not None:
        limit = min(limit, policy.max_concurrency - state.running)
    if tokens is not None and policy.rate_per_second:
        if limit > math.floor(tokens):
            wait = (1 - (tokens % 1)) / policy.rate_per_second
        limit = min(limit, math.floor(tokens))
    half_open = False
    if policy.breaker is not None and state.breaker is not BreakerState.CLOSED:
        half_open = True
        remaining = policy.breaker.open_seconds - state.seconds_since_change
        if state.breaker is BreakerState.OPEN and remaining > 0:
            return Allowance(0, tokens, retry_after_seconds=remaining)
        limit = 0 if state.probe_pending else min(limit, 1)
    return Allowance(max(0, limit), tokens, half_open, wait)


def refill(policy: IntegrationPolicy, state: IntegrationState) -> float | None:
    if policy.rate_per_second is None:
        return None
    had = float(policy.burst) if state.tokens is None else state.tokens
    return min(float(policy.burst), had + state.seconds_since_refill * policy.rate_per_second)

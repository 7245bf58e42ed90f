"""J9, J10: how much an integration allows, as arithmetic."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from quire.jobs.domain.breaker import BreakerPolicy, BreakerState, state_after
from quire.jobs.domain.throttle import IntegrationPolicy, IntegrationState, allow

BREAKER = BreakerPolicy(frozenset({"DOWN"}), minimum_calls=5, failure_ratio=0.5, open_seconds=30)


def state(**fields: object) -> IntegrationState:
    values: dict[str, object] = {
        "tokens": None,
        "seconds_since_refill": 0.0,
        "breaker": BreakerState.CLOSED,
        "seconds_since_change": 0.0,
        "probe_pending": False,
        "running": 0,
        **fields,
    }
    return IntegrationState(**values)  # type: ignore[arg-type]


def test_a_bucket_starts_full_refills_with_time_and_never_overflows() -> None:
    policy = IntegrationPolicy("x", rate_per_second=2, burst=5)
    assert allow(policy, state(), 100).jobs == 5
    assert allow(policy, state(tokens=0.0, seconds_since_refill=1.0), 100).jobs == 2
    assert allow(policy, state(tokens=4.0, seconds_since_refill=3600.0), 100).jobs == 5


def test_an_empty_bucket_says_when_the_next_token_comes() -> None:
    policy = IntegrationPolicy("x", rate_per_second=4, burst=5)
    answer = allow(policy, state(tokens=0.5), 1)
    assert (answer.jobs, answer.retry_after_seconds) == (0, 0.125)


def test_the_cap_on_concurrency_counts_what_runs_and_never_goes_below_zero() -> None:
    policy = IntegrationPolicy("x", max_concurrency=3)
    assert [allow(policy, state(running=n), 10).jobs for n in (0, 2, 3, 9)] == [3, 1, 0, 0]


@given(
    st.floats(0.01, 1000), st.integers(1, 1000), st.one_of(st.none(), st.floats(0, 1000)),
    st.floats(0, 1e6), st.one_of(st.none(), st.integers(1, 50)), st.integers(0, 100), st.integers(0, 500),
)  # fmt: skip
def test_no_mix_of_limits_allows_more_than_any_of_them(
    rate: float, burst: int, tokens: float | None, passed: float, cap: int | None, running: int, wanted: int
) -> None:
    policy = IntegrationPolicy("x", rate, burst, cap)
    answer = allow(policy, state(tokens=tokens, seconds_since_refill=passed, running=running), wanted)
    assert 0 <= answer.jobs <= wanted
    assert answer.tokens is not None
    assert answer.jobs <= math.floor(answer.tokens) <= burst
    if cap is not None:
        assert answer.jobs <= max(0, cap - running)


def test_an_open_breaker_allows_nothing_until_its_time_then_one_probe() -> None:
    policy = IntegrationPolicy("x", breaker=BREAKER)
    held = allow(policy, state(breaker=BreakerState.OPEN, seconds_since_change=10.0), 50)
    assert (held.jobs, held.half_open, held.retry_after_seconds) == (0, False, 20.0)
    probe = allow(policy, state(breaker=BreakerState.OPEN, seconds_since_change=31.0), 50)
    assert (probe.jobs, probe.half_open) == (1, True)
    pending = allow(policy, state(breaker=BreakerState.HALF_OPEN, probe_pending=True), 50)
    assert pending.jobs == 0


def test_a_breaker_trips_at_its_ratio_after_its_minimum_of_calls() -> None:
    assert not BREAKER.trips(0, 4)
    assert BREAKER.trips(0, 5)
    assert BREAKER.trips(5, 5)
    assert not BREAKER.trips(6, 5)


def test_only_the_probe_moves_a_half_open_breaker() -> None:
    half = BreakerState.HALF_OPEN
    assert state_after(BREAKER, half, 0, 99, probe=False, failed=True) is half
    assert state_after(BREAKER, half, 0, 99, probe=True, failed=True) is BreakerState.OPEN
    assert state_after(BREAKER, half, 0, 99, probe=True, failed=False) is BreakerState.CLOSED


def test_a_success_never_opens_a_breaker_and_a_late_outcome_never_closes_an_open_one() -> None:
    assert state_after(BREAKER, BreakerState.CLOSED, 0, 99, probe=False, failed=False) is BreakerState.CLOSED
    assert state_after(BREAKER, BreakerState.OPEN, 99, 0, probe=False, failed=False) is BreakerState.OPEN

"""J5: which failure is tried again and after how long."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.jobs.domain.retry import Backoff, RetryPolicies, RetryRule

CONVERT = Backoff(base_seconds=5, factor=2, cap_seconds=600, jitter="additive", jitter_seconds=5)


def test_the_delay_grows_by_its_factor_and_stops_at_its_cap() -> None:
    backoff = Backoff(base_seconds=5, factor=2, cap_seconds=60, jitter="none")
    assert [backoff.delay_seconds(n, random.random) for n in (1, 2, 3, 4, 5)] == [10, 20, 40, 60, 60]


def test_the_convert_rule_of_the_source_document_is_five_times_two_to_the_attempt_plus_up_to_five() -> None:
    assert CONVERT.delay_seconds(1, lambda: 0.0) == 10
    assert CONVERT.delay_seconds(2, lambda: 0.999) == 20 + 0.999 * 5


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.floats(0, 3600), st.floats(1, 1000))
def test_jitter_stays_inside_its_bounds_for_any_retry(
    retry: int, chance: float, base: float, factor: float
) -> None:
    grown = min(600.0, base * factor ** min(retry, 64))
    full = Backoff(base, factor, 600.0, "full").delay_seconds(retry, lambda: chance)
    additive = Backoff(base, factor, 600.0, "additive", 7.0).delay_seconds(retry, lambda: chance)
    assert 0 <= full <= grown <= 600
    assert full == pytest.approx(chance * grown)
    assert grown <= additive <= grown + 7
    assert additive == pytest.approx(grown + chance * 7)


def rule(attempts: int, *codes: str, size_class: str | None = None) -> RetryRule:
    return RetryRule(frozenset(codes), attempts, Backoff(1.0, jitter="none"), size_class)


def test_a_code_that_no_rule_lists_is_terminal() -> None:
    policies = RetryPolicies(rules=(("*", (rule(3, "A"),)),))
    assert policies.next_delay("jobs.x", "B", "small", 1, random.random) is None
    assert policies.next_delay("jobs.x", "A", "small", 1, random.random) == 2.0


def test_the_last_attempt_has_no_next_one() -> None:
    policies = RetryPolicies(rules=(("*", (rule(3, "A"),)),))
    delays = [policies.next_delay("jobs.x", "A", "small", attempt, random.random) for attempt in (1, 2, 3, 4)]
    assert delays == [2.0, 4.0, None, None]


def test_the_first_matching_rule_of_kind_and_class_wins() -> None:
    policies = RetryPolicies(
        rules=(
            ("render.pdf", (rule(1, "A"),)),
            ("render.*", (rule(9, "A", size_class="large"), rule(5, "A", "B"))),
        )
    )
    found = [
        policies.rule_for("render.pdf", "A", "large"),
        policies.rule_for("render.pdf", "B", "small"),
        policies.rule_for("render.png", "A", "large"),
        policies.rule_for("render.png", "A", "small"),
        policies.rule_for("convert.xml", "A", "small"),
    ]
    assert [item.attempts if item else None for item in found] == [1, 5, 9, 5, None]

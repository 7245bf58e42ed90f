"""The rules of conversion that the files in config/ hold, as the engine reads them: when a failure is tried again and
when the gateway is left in peace. The files are data; nothing else would notice a slip in them."""

from __future__ import annotations

import pytest

from quire.entrypoints.shipped import shipped_dir
from quire.jobs import load_policies
from quire.jobs.domain.breaker import BreakerPolicy

GATEWAY_FAULTS = ("GW_5XX", "GW_TIMEOUT")
LESSER_FAULTS = ("GW_BAD_RESPONSE", "IO_ERROR")


def delays(code: str, chance: float) -> list[float | None]:
    """Before the second, the third and the fourth attempt; none where the one before was the last."""
    rules = load_policies(shipped_dir("config")).retries
    return [rules.next_delay("convert.xml", code, "small", attempt, lambda: chance) for attempt in (1, 2, 3)]


@pytest.mark.parametrize("code", GATEWAY_FAULTS)
def test_a_gateway_that_fails_is_asked_three_times_after_five_seconds_doubled_and_up_to_five_more(
    code: str,
) -> None:
    assert delays(code, 0.0) == [5 * 2**1, 5 * 2**2, None]
    assert delays(code, 0.5) == [5 * 2**1 + 2.5, 5 * 2**2 + 2.5, None]


@pytest.mark.parametrize("code", LESSER_FAULTS)
def test_lesser_faults_are_tried_twice_after_the_same_pause(code: str) -> None:
    assert delays(code, 0.0) == [10, None, None]
    assert delays(code, 0.5) == [12.5, None, None]


@pytest.mark.parametrize("code", GATEWAY_FAULTS + LESSER_FAULTS)
def test_the_pauses_of_more_attempts_go_on_doubling(code: str) -> None:
    rule = load_policies(shipped_dir("config")).retries.rule_for("convert.xml", code, "small")
    assert rule is not None
    assert rule.backoff.delay_seconds(6, lambda: 0.0) == 5 * 2**6


def test_the_gateway_is_left_in_peace_when_half_of_five_calls_in_a_minute_failed_or_were_late() -> None:
    policies = load_policies(shipped_dir("config"))
    assert policies.queues.queue(policies.queues.kind("convert.xml").queue).integration == "gateway"
    assert policies.integrations["gateway"].breaker == BreakerPolicy(
        failure_codes=frozenset(GATEWAY_FAULTS),
        window_seconds=60,
        minimum_calls=5,
        failure_ratio=0.5,
        open_seconds=10,
    )

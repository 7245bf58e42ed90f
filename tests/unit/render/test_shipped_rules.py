"""Which failures of a document are tried again, by the policies as shipped."""

from __future__ import annotations

import pytest

from quire.entrypoints.shipped import shipped_dir
from quire.jobs import load_policies
from quire.render import KIND

LONGEST_PAUSES = (2.0, 4.0)


def delays(code: str) -> list[float | None]:
    """Before the second attempt, the third and so on, when luck makes each as long as it can be."""
    retries = load_policies(shipped_dir("config")).retries
    return [retries.next_delay(KIND, code, "small", attempt, lambda: 1.0) for attempt in (1, 2, 3)]


@pytest.mark.parametrize("code", ["BROWSER_LAUNCH_FAILED", "NAVIGATION_TIMEOUT"])
def test_a_browser_that_fails_or_is_late_is_tried_twice_more(code: str) -> None:
    assert delays(code) == [*LONGEST_PAUSES, None]


@pytest.mark.parametrize("code", ["TEMPLATE_ERROR", "UNSUPPORTED_PLATFORM", "NEVER_HEARD_OF"])
def test_a_document_that_cannot_be_printed_is_not_tried_again(code: str) -> None:
    assert delays(code) == [None, None, None]


def test_a_document_has_a_minute_and_five_seconds_of_it_to_stop() -> None:
    policies = load_policies(shipped_dir("config")).queues
    queue = policies.queue(policies.kind(KIND).queue)
    assert (queue.hard_limit_seconds, queue.soft_limit_seconds) == (60, 55)
    assert policies.kind(KIND).timeout_code == "NAVIGATION_TIMEOUT"

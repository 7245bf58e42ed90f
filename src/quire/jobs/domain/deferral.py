"""A job that no worker can do at the moment, although nothing is wrong with it: how it waits, and when that ends."""

from __future__ import annotations

from dataclasses import dataclass

DELAY_MAX_SECONDS = 30.0
# Its next try comes after this part of the time it has waited, so that a long wait costs little.
DELAY_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Deferral:
    """What is said of the job when it has waited for too long."""

    end_code: str
    remedy: str


def next_delay(asked_seconds: float, waited_seconds: float) -> float:
    return max(asked_seconds, min(DELAY_MAX_SECONDS, DELAY_SHARE * waited_seconds))

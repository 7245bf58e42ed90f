"""Which failure is tried again, how often and when. The rules are data (config/retries.yaml)."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Backoff:
    base_seconds: float
    factor: float = 2.0
    cap_seconds: float = 600.0
    jitter: Literal["full", "additive", "none"] = "full"
    jitter_seconds: float = 0.0

    def delay_seconds(self, retry: int, random: Callable[[], float]) -> float:
        """Delay before retry number `retry` (1 is the first). `random` gives [0, 1)."""
        # The exponent is capped too: factor ** 10_000 overflows a float long before the cap would apply.
        grown = min(self.cap_seconds, self.base_seconds * self.factor ** min(retry, 64))
        if self.jitter == "full":
            return random() * grown
        if self.jitter == "additive":
            return grown + random() * self.jitter_seconds
        return grown


@dataclass(frozen=True, slots=True)
class RetryRule:
    codes: frozenset[str]
    attempts: int
    backoff: Backoff
    size_class: str | None = None

    def covers(self, code: str, size_class: str) -> bool:
        return code in self.codes and self.size_class in (None, size_class)


@dataclass(frozen=True, slots=True)
class RetryPolicies:
    """Rules by kind pattern, most specific first. A code that no rule lists is terminal."""

    rules: tuple[tuple[str, tuple[RetryRule, ...]], ...]
    max_crashes: int = 3
    dead_letter_days: float = 10.0

    def rule_for(self, kind: str, code: str, size_class: str) -> RetryRule | None:
        for pattern, rules in self.rules:
            if not fnmatch.fnmatchcase(kind, pattern):
                continue
            for rule in rules:
                if rule.covers(code, size_class):
                    return rule
        return None

    def next_delay(
        self, kind: str, code: str, size_class: str, attempt: int, random: Callable[[], float]
    ) -> float | None:
        """Seconds until the next attempt, or None when `attempt` was the last or the code is terminal."""
        rule = self.rule_for(kind, code, size_class)
        if rule is None or attempt >= rule.attempts:
            return None
        return rule.backoff.delay_seconds(attempt, random)

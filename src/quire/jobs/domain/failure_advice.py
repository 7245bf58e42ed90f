"""What a handler knows about its failure beyond the code. The policies still decide what follows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FailureAdvice:
    final: bool = False
    """Trying again cannot help, whatever the rule for the code says."""
    not_before_seconds: float = 0.0
    """The other side asked to be left alone for so long."""
    outage: bool = False
    """The integration itself does not answer: its queue is held now, not after more of the same."""
    callers_code: bool = False
    """The code is the caller's text: it moves no breaker and names no metric, for others share these."""
    words: str = ""
    """What helps, for the person who gets the problem; the engine has words of its own for where there are none."""


NO_ADVICE = FailureAdvice()

"""How an attempt ended. The completer writes these; each carries the lease whose fence guards the write. Nobody
changes one; the one that every job makes is not frozen, because that would triple the cost of making it."""

from __future__ import annotations

from dataclasses import dataclass

from quire.jobs.domain.deferral import Deferral
from quire.jobs.domain.failure_advice import NO_ADVICE, FailureAdvice
from quire.jobs.domain.job import Artifact
from quire.jobs.domain.lease import Lease


@dataclass(slots=True)
class Succeeded:
    lease: Lease
    duration_ms: int
    ttl_seconds: float
    result_text: str | None = None
    artifact: Artifact | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The attempt failed with a code. The retry policy turns it into a retry or a dead letter."""

    lease: Lease
    duration_ms: int
    error_code: str
    message: str
    advice: FailureAdvice = NO_ADVICE

    @property
    def metric_code(self) -> str:
        """For labels, of which a caller must not be able to make new ones."""
        return "CALLERS_CODE" if self.advice.callers_code else self.error_code


@dataclass(frozen=True, slots=True)
class HandedBack:
    """Not the job's fault: shutdown, throttle, or an integration that is down. Burns no attempt."""

    lease: Lease
    duration_ms: int
    reason: str
    delay_seconds: float = 0.0
    deferral: Deferral | None = None
    """Its handler put it off: this must end some time."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    lease: Lease
    duration_ms: int


Outcome = Succeeded | Failed | HandedBack | Cancelled

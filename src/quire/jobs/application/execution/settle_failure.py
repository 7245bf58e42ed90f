"""What a failed attempt leads to: a hold while its integration is down, a retry, or a dead letter."""

from __future__ import annotations

from collections.abc import Callable

from quire.jobs.domain.breaker import BreakerState
from quire.jobs.domain.outcome import Failed, HandedBack
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.throttle import IntegrationPolicy
from quire.jobs.ports.v1.integration_gate import IntegrationGate
from quire.jobs.ports.v1.lease_store import DeadLetter, Retry

Verdict = Retry | DeadLetter | HandedBack
# Any time at all: what waits was due before now.
BEHIND_SECONDS = 0.001


async def settle_failure(
    failed: Failed, policies: Policies, gate: IntegrationGate, random: Callable[[], float]
) -> Verdict:
    queue = policies.queues.queue(failed.lease.queue)
    integration = policies.integration_of(failed.lease.kind, queue.name)
    if integration is not None and await _integration_is_down(failed, integration, gate):
        return HandedBack(failed.lease, failed.duration_ms, "held", _hold_seconds(failed))
    kind, code = failed.lease.kind, failed.error_code
    if failed.advice.final:
        return DeadLetter(failed, transient=False)
    delay = policies.retries.next_delay(kind, code, queue.size_class, failed.lease.attempt, random)
    if delay is not None:
        return Retry(failed, max(delay, failed.advice.not_before_seconds))
    transient = policies.retries.rule_for(kind, code, queue.size_class) is not None
    return DeadLetter(failed, transient)


def _hold_seconds(failed: Failed) -> float:
    """A probe that failed goes behind the others: a job that breaks its integration each time must not be the only
    one that ever probes."""
    return max(failed.advice.not_before_seconds, BEHIND_SECONDS if failed.lease.probe else 0.0)


async def _integration_is_down(failed: Failed, policy: IntegrationPolicy, gate: IntegrationGate) -> bool:
    """An outage is not the job's fault: once the breaker is open, its failures burn no attempt."""
    if policy.breaker is None or failed.advice.callers_code:
        return False
    blamed = failed.error_code in policy.breaker.failure_codes
    state = await gate.record(
        policy, failed=blamed, probe=failed.lease.probe, outage=blamed and failed.advice.outage
    )
    return blamed and state is not BreakerState.CLOSED

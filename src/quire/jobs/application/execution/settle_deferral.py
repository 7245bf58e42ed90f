"""What a deferred attempt leads to: another wait, or a dead letter that says what the job waited for."""

from __future__ import annotations

from dataclasses import replace

from quire.jobs.domain.deferral import Deferral, next_delay
from quire.jobs.domain.failure_advice import FailureAdvice
from quire.jobs.domain.outcome import Failed, HandedBack
from quire.jobs.domain.policies import Policies
from quire.jobs.ports.v1.lease_store import DeadLetter, LeaseStore


async def settle_deferral(
    deferred: HandedBack, deferral: Deferral, policies: Policies, store: LeaseStore
) -> HandedBack | DeadLetter:
    waited = await store.deferred_seconds(deferred.lease, deferred.reason)
    if waited < policies.queues.kind(deferred.lease.kind).deferral_limit_seconds:
        return replace(deferred, delay_seconds=next_delay(deferred.delay_seconds, waited))
    message = f"{deferred.reason}; nobody could do it within {waited:.0f} s"
    advice = FailureAdvice(final=True, words=deferral.remedy)
    failed = Failed(deferred.lease, deferred.duration_ms, deferral.end_code, message, advice)
    return DeadLetter(failed, transient=False)

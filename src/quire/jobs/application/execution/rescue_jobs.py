"""Last words of a worker whose event loop is blocked: spoken from the heartbeat's thread, over connections of its
own, just before the process ends itself."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from uuid import UUID

from quire.jobs.application.execution.execute_job import outcome_of_stop
from quire.jobs.application.execution.running_job import RunningJob, StopReason
from quire.jobs.application.execution.settle_failure import settle_failure
from quire.jobs.domain.outcome import Failed, HandedBack
from quire.jobs.domain.policies import Policies
from quire.jobs.ports.v1.integration_gate import IntegrationGate
from quire.jobs.ports.v1.lease_store import DeadLetter, LeaseStore, Retry


async def rescue_jobs(
    worker_id: UUID,
    store: LeaseStore,
    gate: IntegrationGate,
    policies: Policies,
    overdue: Iterable[RunningJob],
    others: Iterable[RunningJob],
) -> None:
    """The overdue jobs fail with their timeout code; the rest go back unharmed."""
    returned = [_stopped(running, StopReason.SHUTDOWN) for running in others]
    failures = [_stopped(running, StopReason.TIMEOUT) for running in overdue]
    verdicts = [
        await settle_failure(failure, policies, gate, random.random)
        for failure in failures
        if isinstance(failure, Failed)
    ]
    handed = [item for item in (*returned, *verdicts) if isinstance(item, HandedBack)]
    if handed:
        await store.hand_back(worker_id, handed)
    retries: Sequence[Retry] = [item for item in verdicts if isinstance(item, Retry)]
    if retries:
        await store.retry(worker_id, retries)
    letters: Sequence[DeadLetter] = [item for item in verdicts if isinstance(item, DeadLetter)]
    if letters:
        await store.bury(worker_id, letters)


def _stopped(running: RunningJob, reason: StopReason) -> object:
    running.stop_reason = reason
    return outcome_of_stop(running)

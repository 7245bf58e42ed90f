"""Writes outcomes together: one statement for many finished jobs. A job's lease is kept until its write is
acknowledged; what a broken connection left unwritten is written again, and the fence makes that harmless. What can
never be written is found among the others and becomes a failure of its own job."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from uuid import UUID

import structlog

from quire.jobs.application import metrics
from quire.jobs.application.execution.failure_log import log_failure
from quire.jobs.application.execution.settle_deferral import settle_deferral
from quire.jobs.application.execution.settle_failure import Verdict, settle_failure
from quire.jobs.application.transitions import note_lease
from quire.jobs.domain.errors import OUTCOME_UNSTORABLE, OutcomeUnstorableError
from quire.jobs.domain.outcome import Cancelled, Failed, HandedBack, Outcome, Succeeded
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.state import JobState
from quire.jobs.ports.v1.integration_gate import IntegrationGate
from quire.jobs.ports.v1.lease_store import DeadLetter, LeaseStore, Retry
from quire.kernel import QuireError

RETRY_PAUSE_SECONDS = 0.25
DURATION_MAX_MS = 2**31 - 1
# Nothing that the next poll would not find in time.
DUE_LATER_MAX_SECONDS = 3600.0
# What no repetition heals: the values themselves do not fit together.
UNFIT = (TypeError, ValueError, ArithmeticError)

log = structlog.get_logger(__name__)
Item = TypeVar("Item")


class Completer:
    def __init__(
        self,
        worker_id: UUID,
        store: LeaseStore,
        gate: IntegrationGate,
        policies: Policies,
        on_written: Callable[[Sequence[Outcome], frozenset[UUID]], Awaitable[None]],
        on_released: Callable[[], None],
        on_due_later: Callable[[float], None],
        *,
        batch: int,
        tick_seconds: float,
    ) -> None:
        self._worker_id = worker_id
        self._store = store
        self._gate = gate
        self._policies = policies
        self._on_written = on_written
        self._on_released = on_released
        self._on_due_later = on_due_later
        self._batch = batch
        self._tick_seconds = tick_seconds
        self._buffer: list[Outcome] = []
        self._arrived = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def backlog(self) -> int:
        return len(self._buffer)

    def add(self, outcome: Outcome) -> None:
        self._buffer.append(outcome)
        self._empty.clear()
        self._arrived.set()

    async def drained(self) -> None:
        await self._empty.wait()

    async def run(self) -> None:
        while True:
            await self._arrived.wait()
            if len(self._buffer) < self._batch and self._tick_seconds:
                await asyncio.sleep(self._tick_seconds)
            self._arrived.clear()
            while self._buffer:
                chunk = self._buffer[: self._batch]
                await self._write_until_acknowledged(chunk)
                del self._buffer[: len(chunk)]
            self._empty.set()

    async def _write_until_acknowledged(self, chunk: Sequence[Outcome]) -> None:
        """Steps that are done stay done: each kind of outcome is written and acknowledged on its own."""
        started = time.monotonic()
        succeeded = [item for item in chunk if isinstance(item, Succeeded)]
        await self._write(succeeded, self._complete, lambda item: item, JobState.SUCCEEDED)
        await self._write_returned([item for item in chunk if isinstance(item, HandedBack)])
        cancelled = [item for item in chunk if isinstance(item, Cancelled)]
        await self._write(cancelled, self._store.cancel, lambda item: item, JobState.CANCELLED)
        await self._write_failures([item for item in chunk if isinstance(item, Failed)])
        await self._note_successes(succeeded)
        metrics.FLUSH_SECONDS.observe(time.monotonic() - started)

    async def _complete(self, worker_id: UUID, done: Sequence[Succeeded]) -> frozenset[UUID]:
        completion = await self._store.complete(worker_id, done)
        if completion.released:
            self._on_released()
        return completion.accepted

    async def _write_returned(self, returned: Sequence[HandedBack]) -> None:
        settled = [await self._settle_return(item) for item in returned]
        back = [item for item in settled if isinstance(item, HandedBack)]
        await self._write(back, self._store.hand_back, lambda item: item, JobState.QUEUED)
        letters = [item for item in settled if isinstance(item, DeadLetter)]
        for letter in letters:
            self._note_failure(letter.failed, letter)
        await self._write(letters, self._store.bury, lambda letter: letter.failed, JobState.FAILED)

    async def _settle_return(self, item: HandedBack) -> HandedBack | DeadLetter:
        deferral = item.deferral
        if deferral is None:
            return item
        try:
            return await self._persist(lambda: settle_deferral(item, deferral, self._policies, self._store))
        except OutcomeUnstorableError as error:
            return _dead_letter(item, error)

    async def _write_failures(self, failures: Sequence[Failed]) -> None:
        verdicts: list[Verdict] = []
        for failure in failures:
            verdicts.append(await self._verdict(failure))
            self._note_failure(failure, verdicts[-1])
        retries = [v for v in verdicts if isinstance(v, Retry)]
        await self._write(retries, self._store.retry, lambda v: v.failed, JobState.QUEUED)
        for retry in retries:
            if retry.delay_seconds < DUE_LATER_MAX_SECONDS:
                self._on_due_later(retry.delay_seconds)
        letters = [v for v in verdicts if isinstance(v, DeadLetter)]
        await self._write(letters, self._store.bury, lambda v: v.failed, JobState.FAILED)
        held = [v for v in verdicts if isinstance(v, HandedBack)]
        await self._write(held, self._store.hand_back, lambda v: v, JobState.QUEUED)

    async def _verdict(self, failure: Failed) -> Verdict:
        try:
            return await self._persist(lambda: self._settle(failure))
        except OutcomeUnstorableError as error:
            return _dead_letter(failure, error)

    def _note_failure(self, failure: Failed, verdict: Verdict) -> None:
        metrics.JOB_FAILURES.labels(failure.lease.kind, failure.metric_code).inc()
        log_failure(failure, JobState.FAILED if isinstance(verdict, DeadLetter) else JobState.QUEUED)

    async def _settle(self, failure: Failed) -> Verdict:
        return await settle_failure(failure, self._policies, self._gate, random.random)

    async def _note_successes(self, succeeded: Sequence[Succeeded]) -> None:
        for item in succeeded:
            policy = self._policies.integration_of(item.lease.kind, item.lease.queue)
            if policy is not None:
                await self._persist(
                    lambda policy=policy, probe=item.lease.probe: self._gate.record(
                        policy, failed=False, probe=probe
                    )  # type: ignore[misc]
                )

    async def _write(
        self,
        items: Sequence[Item],
        write: Callable[[UUID, Sequence[Item]], Awaitable[frozenset[UUID]]],
        outcome_of: Callable[[Item], Outcome],
        state: JobState,
    ) -> None:
        if not items:
            return
        try:
            accepted = await self._persist(lambda: write(self._worker_id, items))
        except OutcomeUnstorableError as error:
            await self._write_apart(items, write, outcome_of, state, error)
            return
        outcomes = [outcome_of(item) for item in items]
        for outcome in outcomes:
            if outcome.lease.job_id in accepted:
                code = outcome.error_code if isinstance(outcome, Failed) else None
                reason = outcome.reason if isinstance(outcome, HandedBack) else None
                note_lease(outcome.lease, state, code, outcome.duration_ms, reason)
        await self._on_written(outcomes, accepted)

    async def _write_apart(
        self,
        items: Sequence[Item],
        write: Callable[[UUID, Sequence[Item]], Awaitable[frozenset[UUID]]],
        outcome_of: Callable[[Item], Outcome],
        state: JobState,
        error: OutcomeUnstorableError,
    ) -> None:
        """Halves, until the one is found that keeps the others from being written."""
        if len(items) > 1:
            middle = len(items) // 2
            await self._write(items[:middle], write, outcome_of, state)
            await self._write(items[middle:], write, outcome_of, state)
        else:
            await self._give_up(outcome_of(items[0]), error)

    async def _give_up(self, outcome: Outcome, error: OutcomeUnstorableError) -> None:
        log.error("outcome_unstorable", job_id=str(outcome.lease.job_id), error=error.detail)
        if isinstance(outcome, Failed) and outcome.error_code == OUTCOME_UNSTORABLE:
            # Nothing of it is the handler's any more. The lease runs out, and crashes are counted.
            await self._on_written([outcome], frozenset())
            return
        letter = _dead_letter(outcome, error)
        await self._write([letter], self._store.bury, lambda v: v.failed, JobState.FAILED)

    async def _persist(self, action: Callable[[], Awaitable[Item]]) -> Item:
        """The database may be away for long; finished work is worth the wait. Raises only OutcomeUnstorableError."""
        pause = RETRY_PAUSE_SECONDS
        while True:
            try:
                return await action()
            except OutcomeUnstorableError:
                raise
            except UNFIT as error:
                raise OutcomeUnstorableError(f"{type(error).__name__}: {error}") from error
            except QuireError as error:
                log.warning("completion_delayed", error_code=error.code, backlog=len(self._buffer))
            except Exception as error:
                # Deadlock, serialization, a server in recovery: all of it passes.
                log.warning(
                    "completion_delayed", error=f"{type(error).__name__}: {error}", backlog=len(self._buffer)
                )
            await asyncio.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 2, 5.0)


def _dead_letter(outcome: Outcome, error: OutcomeUnstorableError) -> DeadLetter:
    """The job's failure in a form that can be stored for certain."""
    duration_ms = max(0, min(outcome.duration_ms, DURATION_MAX_MS))
    return DeadLetter(Failed(outcome.lease, duration_ms, OUTCOME_UNSTORABLE, error.detail), transient=False)

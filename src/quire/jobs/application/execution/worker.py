"""A worker process: claims, runs, reports. The loops are here; what they decide lives in their own files."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog

from quire.jobs.application import metrics
from quire.jobs.application.brokers import broker_metrics
from quire.jobs.application.execution.attempt_context import AttemptContext
from quire.jobs.application.execution.completer import Completer
from quire.jobs.application.execution.execute_job import execute_job, outcome_of_stop
from quire.jobs.application.execution.handler_registry import HandlerRegistry
from quire.jobs.application.execution.heartbeat import Heartbeat
from quire.jobs.application.execution.limiter import Limiter, ask_to_stop
from quire.jobs.application.execution.running_job import RunningJob, StopReason
from quire.jobs.application.execution.suspect_watch import SuspectWatch, run_solo_process
from quire.jobs.application.transitions import note_lease
from quire.jobs.application.upkeep.reclaimer import Reclaimer
from quire.jobs.application.upkeep.sweeper import Sweeper
from quire.jobs.domain.lease import HeartbeatReply, Lease
from quire.jobs.domain.outcome import HandedBack, Outcome, Succeeded
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.domain.state import JobState
from quire.jobs.ports.v1.artifact_store import ArtifactStore
from quire.jobs.ports.v1.broker import CANCEL, ENDED, WORK, Broker
from quire.jobs.ports.v1.child_runner import ChildRunner
from quire.jobs.ports.v1.expiry_store import ExpiryStore
from quire.jobs.ports.v1.integration_gate import IntegrationGate
from quire.jobs.ports.v1.lease_store import Claim, LeaseRenewer, LeaseStore
from quire.jobs.ports.v1.solo_process import SoloProcess
from quire.jobs.ports.v1.worker_registry import WorkerCard, WorkerRegistry
from quire.kernel import QuireError

BEAT_SECONDS = 0.3
# Finished jobs whose write is not acknowledged yet; beyond this the database is behind and takes no more claims.
BACKLOG_FACTOR = 4
# A solo worker that found no suspect for so long leaves; its starter looks for the next.
SOLO_IDLE_SECONDS = 5.0
# Past its grace, which begins with ours, a solo worker writes down what it hands back.
SOLO_END_SECONDS = 8.0

log = structlog.get_logger(__name__)
Loops = dict[str, Coroutine[None, None, None]]


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    shutdown_grace_seconds: float = 30.0
    poll_seconds: float = 1.0
    reclaim_seconds: float = 1.0
    sweep_seconds: float = 3600.0
    completion_batch: int = 200
    completion_tick_seconds: float = 0.002
    solo: bool = False
    """It runs suspects alone, one at a time, and leaves when there are none."""


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """What a worker works with; wired by the entrypoint."""

    store: LeaseStore
    gate: IntegrationGate
    registry: WorkerRegistry
    broker: Broker
    artifacts: ArtifactStore
    expiry: ExpiryStore
    children: ChildRunner
    handlers: HandlerRegistry
    policies: Policies
    open_renewer: Callable[[], LeaseRenewer]
    rescue: Callable[[Sequence[RunningJob], Sequence[RunningJob]], Awaitable[None]]
    solo: SoloProcess | None = None
    """Runs suspects. Without one this worker runs them itself, and nothing else meanwhile."""


class Worker:
    def __init__(self, card: WorkerCard, parts: WorkerParts, options: WorkerOptions | None = None) -> None:
        self.card = card
        self._parts = parts
        self._options = options or WorkerOptions()
        self._queues: list[QueuePolicy] = [parts.policies.queues.queue(name) for name in card.queues]
        self._queues.sort(key=lambda queue: (queue.priority, queue.name))
        self._running: dict[UUID, RunningJob] = {}
        # A suspect's turn, in a worker without a process for them: it waits for what it runs, then takes the suspect.
        self._turn = False
        self._turn_over = asyncio.Event()
        self._alone = False
        self._wake = asyncio.Event()
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._claimed_lately_at = time.monotonic()
        self._idle_since: float | None = None
        self._stop_asked_at = 0.0
        self._completer = Completer(
            card.id,
            parts.store,
            parts.gate,
            parts.policies,
            self._written,
            self._released,
            self._look_again_in,
            batch=self._options.completion_batch,
            tick_seconds=self._options.completion_tick_seconds,
        )
        self._heartbeat = Heartbeat(parts.open_renewer, card.lease_seconds, self._heard, self._rescue)

    # --- life

    def stop(self) -> None:
        """First call: finish what runs. Second call: hand it back now."""
        if self._stopping.is_set():
            self._hurry.set()
        else:
            self._stop_asked_at = time.monotonic()
        self._stopping.set()
        self._wake.set()
        if self._parts.solo is not None:
            self._parts.solo.stop()

    def _solo_seconds_left(self) -> float:
        whole = self._options.shutdown_grace_seconds + SOLO_END_SECONDS
        return max(1.0, self._stop_asked_at + whole - time.monotonic())

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def live(self) -> bool:
        """It polled lately; a process id proves nothing."""
        return time.monotonic() - self._claimed_lately_at < max(10.0, 5 * self._options.poll_seconds)

    async def run(self) -> None:
        parts = self._parts
        await self._register()
        parts.broker.subscribe(WORK, self._wake.set)
        if not self._options.solo:
            parts.broker.serve(self.card.queues)
        parts.broker.subscribe(CANCEL, self._heartbeat.poke)
        await parts.broker.start()
        self._heartbeat.start()
        named = self._own_loops() | ({} if self._options.solo else self._shared_loops())
        loops = [asyncio.create_task(loop, name=name) for name, loop in named.items()]
        for loop in loops:
            loop.add_done_callback(self._loop_ended)
        try:
            await self._claim_to_the_end()
            await self._finish()
        finally:
            if parts.solo is not None:
                await parts.solo.close(self._solo_seconds_left())
            self._heartbeat.stop()
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            with contextlib.suppress(QuireError):
                await parts.registry.sign_off(self.card.id)
            await parts.broker.close()

    def _own_loops(self) -> Loops:
        return {
            "completer": self._completer.run(),
            "limiter": Limiter(self._running.values, self._abandon).run(),
            "presence": self._show_presence(),
        }

    def _shared_loops(self) -> Loops:
        """What workers do for each other, beside their own jobs."""
        parts, options = self._parts, self._options
        reclaimer = Reclaimer(parts.store, parts.broker, options.reclaim_seconds)
        sweeper = Sweeper(
            self.card.id, parts.registry, parts.expiry, parts.artifacts, parts.policies, options.sweep_seconds
        )
        watch = SuspectWatch(parts.store, self._queues, options.reclaim_seconds, self._run_suspects)
        return {"reclaimer": reclaimer.run(), "sweeper": sweeper.run(), "suspects": watch.run()}

    async def _register(self) -> None:
        await self._parts.registry.register(self.card)
        log.info("worker_started", worker_id=str(self.card.id), queues=list(self.card.queues))

    def _loop_ended(self, task: asyncio.Task[None]) -> None:
        """A loop that dies takes the worker down in good order; the supervisor starts a fresh one."""
        if not task.cancelled() and task.exception() is not None:
            log.error("loop_died", loop=task.get_name(), exc_info=task.exception())
            self.stop()

    # --- claiming

    async def _claim_to_the_end(self) -> None:
        try:
            await self._claim_until_stopped()
        except Exception:
            # As with any other loop: what runs is finished or handed back, not left to its leases.
            log.exception("loop_died", loop="claim")
            self.stop()

    async def _claim_until_stopped(self) -> None:
        pause = 0.0
        while not self._stopping.is_set():
            self._wake.clear()
            room = self._room()
            # Whose turn it is may change while the claim is under way.
            suspects = self._takes_suspects
            named = self._parts.broker.take(0 if suspects else max(0, room))
            if room <= 0:
                await self._wait(self._options.poll_seconds)
                continue
            try:
                claim = await self._claim(named, room, suspects)
            except QuireError as error:
                pause = min(5.0, max(0.25, pause * 2))
                log.warning("claim_failed", error_code=error.code, pause_seconds=pause)
                await self._wait(pause)
                continue
            pause = 0.0
            self._claimed_lately_at = time.monotonic()
            metrics.JOBS_CLAIMED.inc(len(claim.leases))
            await (self._take_suspect if suspects else self._take)(claim.leases)
            if len(claim.leases) < room and not named:
                await self._wait(self._nap_seconds(claim.retry_after_seconds))
            else:
                # Let what was claimed run before asking for more. Messages may wait for room that others, which
                # named nothing claimable, have left.
                await asyncio.sleep(0)

    async def _claim(self, named: Sequence[UUID], room: int, suspects: bool) -> Claim:
        """What messages named, and whatever else waits as soon as one of them is not to be had."""
        store, seconds = self._parts.store, self.card.lease_seconds
        if suspects:
            return await store.claim_suspect(self.card.id, self._queues, seconds)
        if not named:
            return await store.claim(self.card.id, self._queues, room, seconds)
        claim = await store.claim_named(self.card.id, self._queues, named, room, seconds)
        claimed = len({lease.job_id for lease in claim.leases} & set(named))
        broker_metrics.NAMED.labels("claimed").inc(claimed)
        broker_metrics.NAMED.labels("not_claimable").inc(len(named) - claimed)
        return claim

    def _room(self) -> int:
        if not self._heartbeat.healthy or self._alone:
            return 0
        if self._takes_suspects:
            return 0 if self._running else 1
        if self._completer.backlog > BACKLOG_FACTOR * max(
            self.card.concurrency, self._options.completion_batch
        ):
            return 0
        return self.card.concurrency - len(self._running)

    def _nap_seconds(self, retry_after_seconds: float | None) -> float:
        """Jittered, so that workers that woke together do not stay in step."""
        nap = self._options.poll_seconds * (1 + random.random())
        return nap if retry_after_seconds is None else max(0.01, min(nap, retry_after_seconds))

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    # --- running

    async def _take(self, leases: Sequence[Lease]) -> None:
        most = self._parts.policies.retries.max_crashes
        for lease in leases:
            if lease.crash_count and lease.crash_count + 1 >= most:
                # Lined up by an older release, or under a policy that allowed more crashes.
                self._completer.add(HandedBack(lease, 0, "runs_alone"))
            else:
                self._start(lease)

    async def _take_suspect(self, leases: Sequence[Lease]) -> None:
        """A suspect must not share the process with others: either it is the job that kills workers, and then takes
        nobody with it, or it only stood beside that one, and now shows it."""
        self._turn = False
        self._alone = bool(leases)
        for lease in leases:
            self._start(lease)
        if self._alone:
            self._idle_since = None
        elif self._options.solo:
            # No answer is no reason to leave: the next claim says more.
            with contextlib.suppress(QuireError):
                await self._leave_if_idle()
        else:
            self._turn_over.set()
            self._wake.set()

    async def _leave_if_idle(self) -> None:
        now = time.monotonic()
        self._idle_since = self._idle_since or now
        # Those behind a closed gate are due and may be had soon: a new process would find the same.
        if now - self._idle_since > SOLO_IDLE_SECONDS and not await self._parts.store.suspects_due(
            self._queues
        ):
            self.stop()

    @property
    def _takes_suspects(self) -> bool:
        return self._options.solo or self._turn

    async def _run_suspects(self) -> None:
        if self._parts.solo is not None:
            await run_solo_process(self._parts.solo)
            return
        self._turn_over.clear()
        self._turn = True
        self._wake.set()
        await self._turn_over.wait()

    def _start(self, lease: Lease) -> None:
        policies = self._parts.policies.queues
        running = RunningJob(lease, policies.queue(lease.queue), policies.kind(lease.kind))
        former = self._running.get(lease.job_id)
        if former is not None:
            # Our own lease ran out, in an outage say, and the job came back to us: the former attempt lost it.
            self._lose(former)
        self._running[lease.job_id] = running
        note_lease(lease, JobState.RUNNING)
        self._heartbeat.hold(lease.job_id, lease.fence, running.hard_at)
        self._idle.clear()
        running.task = asyncio.create_task(self._attempt(running))

    async def _attempt(self, running: RunningJob) -> None:
        parts = self._parts
        context = AttemptContext(running, self.card.id, parts.store, parts.artifacts, parts.children)
        outcome = await execute_job(running, parts.handlers, context)
        if not running.reported:
            # First the outcome: removing bytes may take long or fail, and until then the lease would be renewed.
            self._report(running, outcome)
            if not isinstance(outcome, Succeeded):
                await self._discard(running)

    def _report(self, running: RunningJob, outcome: Outcome | None) -> None:
        """The slot is free now; the lease is kept until the outcome is written."""
        running.reported = True
        self._free(running)
        self._settle(running, outcome)

    def _settle(self, running: RunningJob, outcome: Outcome | None) -> None:
        lease = running.lease
        if outcome is None:
            self._heartbeat.drop(lease.job_id, lease.fence)
        else:
            self._heartbeat.hold_finished(lease.job_id, lease.fence)
            self._completer.add(outcome)

    def _free(self, running: RunningJob) -> None:
        if self._running.get(running.lease.job_id) is running:
            del self._running[running.lease.job_id]
        if not self._running:
            self._idle.set()
            if self._alone:
                self._alone = False
                self._turn_over.set()
        self._wake.set()

    def _abandon(self, running: RunningJob) -> None:
        """The handler swallowed its cancellation. Its slot goes on without it, and its result is not wanted."""
        if not running.reported:
            self._report(running, outcome_of_stop(running))

    async def _discard(self, running: RunningJob) -> None:
        if running.artifact is not None:
            # What cannot be removed now is found by the sweep: its record is still pending.
            with contextlib.suppress(QuireError):
                await self._parts.artifacts.discard_unpublished(running.artifact.key)

    def _look_again_in(self, seconds: float) -> None:
        """A short backoff ends between two polls; this worker at least knows when."""
        asyncio.get_running_loop().call_later(seconds, self._wake.set)

    async def _written(self, outcomes: Sequence[Outcome], accepted: frozenset[UUID]) -> None:
        """`accepted`: whose fence was current. The others belong to someone else by now."""
        for outcome in outcomes:
            lease = outcome.lease
            self._heartbeat.drop(lease.job_id, lease.fence)
            metrics.ATTEMPTS.note(lease.kind, type(outcome).__name__, outcome.duration_ms / 1000)
            if lease.job_id not in accepted:
                await self._refused(outcome)
        # Claiming may have paused for the writes to catch up.
        self._wake.set()
        self._parts.broker.announce(ENDED)
        if any(self._parts.policies.queues.queue(item.lease.queue).gated for item in outcomes):
            # A gate may have opened for work that other workers wait for.
            self._parts.broker.announce(WORK)

    def _released(self) -> None:
        """Jobs that waited for others may run now, here or elsewhere."""
        self._wake.set()
        self._parts.broker.announce(WORK)

    async def _refused(self, outcome: Outcome) -> None:
        lease = outcome.lease
        metrics.LEASES_LOST.inc()
        log.warning("lease_lost", job_id=str(lease.job_id), fence=lease.fence, outcome=type(outcome).__name__)
        if isinstance(outcome, Succeeded) and outcome.artifact is not None:
            with contextlib.suppress(QuireError):
                await self._parts.artifacts.discard_unpublished(outcome.artifact.key)

    # --- hearing

    def _heard(self, reply: HeartbeatReply) -> None:
        for job_id in reply.lost:
            running = self._running.get(job_id)
            if running is not None:
                self._lose(running)
        for job_id in reply.cancel_requested:
            running = self._running.get(job_id)
            if running is not None and running.stop_reason in (None, StopReason.TIMEOUT):
                ask_to_stop(running, StopReason.CANCEL)

    def _lose(self, running: RunningJob) -> None:
        log.warning("lease_lost", job_id=str(running.lease.job_id), fence=running.lease.fence)
        metrics.LEASES_LOST.inc()
        ask_to_stop(running, StopReason.LEASE_LOST, grace_seconds=0.0)

    async def _rescue(self, overdue: frozenset[UUID]) -> None:
        jobs = list(self._running.copy().values())
        await self._parts.rescue(
            [job for job in jobs if job.lease.job_id in overdue],
            [job for job in jobs if job.lease.job_id not in overdue],
        )

    async def _show_presence(self) -> None:
        registered = True
        while True:
            # Who serves a queue is asked to decide whether work is accepted: suspects alone are no service.
            claiming = not self._options.solo and not self._stopping.is_set() and self._heartbeat.healthy
            metrics.JOBS_RUNNING.set(len(self._running))
            try:
                if not registered:
                    await self._parts.registry.register(self.card)
                await self._parts.registry.beat(self.card.id, len(self._running), claiming)
                registered = True
            except QuireError:
                registered = False
            await asyncio.sleep(BEAT_SECONDS)

    # --- stopping

    async def _finish(self) -> None:
        """Grace for what runs, then hand back the rest at once, then write everything down."""
        log.info("worker_stopping", running=len(self._running))
        # Messages from now on are for others.
        self._parts.broker.take(0)
        hurry = asyncio.create_task(self._hurry.wait())
        idle = asyncio.create_task(self._idle.wait())
        await asyncio.wait(
            {hurry, idle}, timeout=self._options.shutdown_grace_seconds, return_when=asyncio.FIRST_COMPLETED
        )
        for running in list(self._running.values()):
            ask_to_stop(running, StopReason.SHUTDOWN, grace_seconds=0.0)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(idle, 5.0)
        hurry.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(30.0):
                await self._completer.drained()
        log.info("worker_stopped", worker_id=str(self.card.id))

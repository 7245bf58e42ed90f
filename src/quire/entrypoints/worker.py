"""Wires a worker process."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from uuid import uuid4

import structlog

import quire
from quire.entrypoints.brokers import republisher_running
from quire.entrypoints.convert import convert_handlers, convertible_queues, files_swept
from quire.entrypoints.engine import Engine, open_engine
from quire.entrypoints.render import servable_queues, worker_handlers
from quire.entrypoints.schedules import scheduler_running
from quire.entrypoints.webhooks import courier_running
from quire.jobs import Handler, Worker, WorkerOptions, WorkerParts
from quire.jobs.application.brokers.inbox import Inbox
from quire.jobs.application.execution.rescue_jobs import rescue_jobs
from quire.jobs.application.execution.running_job import RunningJob
from quire.jobs.infrastructure.postgres.integration_gate import PostgresIntegrationGate
from quire.jobs.infrastructure.postgres.lease_store import PostgresLeaseRenewer, PostgresLeaseStore
from quire.jobs.infrastructure.process.child_runner import ProcessGroupRunner
from quire.jobs.infrastructure.process.solo_process import ChildSoloProcess
from quire.jobs.ports.v1.worker_registry import WorkerCard
from quire.kernel import UnavailableError, there_is
from quire.runtime.database import Database
from quire.runtime.garbage import settle_garbage
from quire.runtime.settings import Settings, SettingsError
from quire.runtime.telemetry import MetricStore, metrics_shipped, start_metrics_server

# -P: not from the working directory.
SOLO_COMMAND = (sys.executable, "-P", "-m", "quire", "worker")

log = structlog.get_logger(__name__)


def build_worker(engine: Engine, settings: Settings, solo_command: Sequence[str] | None = None) -> Worker:
    """`solo_command`: starts this program again, for suspects. Without it this worker runs them itself, in turns."""
    card = _card(engine, settings)
    parts = WorkerParts(
        store=engine.leases,
        gate=engine.gate,
        registry=engine.registry,
        broker=engine.broker,
        artifacts=engine.artifacts,
        expiry=engine.expiry,
        children=ProcessGroupRunner(),
        handlers=engine.handlers,
        policies=engine.policies,
        open_renewer=lambda: PostgresLeaseRenewer(
            engine.dsn, card.id, card.lease_seconds, timeout_seconds=max(1.0, card.lease_seconds / 4)
        ),
        rescue=lambda overdue, others: _rescue(engine, card, overdue, others),
        solo=_solo_process(settings, card, solo_command),
    )
    options = WorkerOptions(
        shutdown_grace_seconds=settings.shutdown_grace_seconds,
        poll_seconds=settings.poll_seconds,
        reclaim_seconds=settings.reclaim_seconds,
        sweep_seconds=settings.sweep_seconds,
        completion_batch=settings.completion_batch,
        completion_tick_seconds=settings.completion_tick_ms / 1000,
        solo=settings.worker_solo,
    )
    return Worker(card, parts, options)


def _card(engine: Engine, settings: Settings) -> WorkerCard:
    patterns = [pattern.strip() for pattern in settings.worker_queues.split(",") if pattern.strip()]
    for pattern in patterns:
        # One that is misspelt beside one that is right would leave its queue to nobody, in silence.
        if not engine.policies.queues.matching([pattern]):
            known = there_is(engine.policies.queues.queues, pattern)
            raise SettingsError(f"WORKER_QUEUES: no queue matches {pattern!r}; {known}")
    matching = engine.policies.queues.matching(patterns)
    able = convertible_queues(settings, servable_queues(settings, [queue.name for queue in matching]))
    queues = [queue for queue in matching if queue.name in able]
    if not queues:
        raise SettingsError(f"WORKER_QUEUES: this machine can serve none of {settings.worker_queues!r}")
    return WorkerCard(
        id=uuid4(),
        host=socket.gethostname(),
        pid=os.getpid(),
        version=quire.__version__,
        queues=tuple(queue.name for queue in queues),
        concurrency=1 if settings.worker_solo else settings.worker_concurrency,
        lease_seconds=settings.lease_seconds,
    )


def _solo_process(
    settings: Settings, card: WorkerCard, command: Sequence[str] | None
) -> ChildSoloProcess | None:
    if command is None or settings.worker_solo:
        return None
    names = {
        "WORKER_SOLO": "true",
        "WORKER_QUEUES": ",".join(card.queues),
        # Inherited already.
        "WORKER_NICENESS": "0",
        # One port serves one process, and no message is for it.
        "QUIRE_METRICS_PORT": "-1",
        "QUIRE_BROKER_URL": "postgres://",
    }
    return ChildSoloProcess(command, names)


async def _rescue(
    engine: Engine, card: WorkerCard, overdue: Sequence[RunningJob], others: Sequence[RunningJob]
) -> None:
    """Runs on the heartbeat's event loop, so it must not touch the pool of the blocked one."""
    database = await Database.open(engine.dsn, pool_max=2, application="quire-rescue")
    store = PostgresLeaseStore(database, engine.policies)
    gate = PostgresIntegrationGate(database)
    await rescue_jobs(card.id, store, gate, engine.policies, overdue, others)


async def _ready(worker: Worker) -> None:
    """It polled lately; a process that merely exists is not ready."""
    if not worker.live:
        raise UnavailableError("the worker has not polled lately", code="WORKER_STALLED")


def _working(shipped: Sequence[Handler], converting: Sequence[Handler]) -> list[Handler]:
    """Whoever can do a kind takes the place of whoever only accepts it."""
    return list({handler.kind: handler for handler in (*shipped, *converting)}.values())


def stop_without_starter(worker: Worker) -> None:
    """Our input closes when whoever started us stops or dies."""

    def heard() -> None:
        if not os.read(0, 1024):
            asyncio.get_running_loop().remove_reader(0)
            if not worker.stopping:
                worker.stop()

    asyncio.get_running_loop().add_reader(0, heard)


def stop_on_signals(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)


async def run_worker(
    settings: Settings,
    handlers: Iterable[Handler] | None = None,
    *,
    inbox: Inbox | None = None,
    stopped_by: Callable[[Callable[[], None]], None] = stop_on_signals,
    solo_command: Sequence[str] | None = None,
) -> None:
    """Until SIGTERM or SIGINT; a second one does not wait for running jobs. `handlers`: instead of the shipped, and
    then `solo_command` starts a program with the same ones.
    A program that is a worker of something else brings the `inbox` it fills, and its own way to stop."""
    if solo_command is None and handlers is None:
        solo_command = SOLO_COMMAND
    async with (
        worker_handlers(settings) as shipped,
        convert_handlers(settings) as converting,
        open_engine(
            settings,
            application="quire-worker",
            handlers=_working(shipped, converting) if handlers is None else handlers,
            by_key=True,
            inbox=inbox,
        ) as engine,
    ):
        worker = build_worker(engine, settings, solo_command)
        settle_garbage()
        stopped_by(worker.stop)
        if settings.worker_solo:
            stop_without_starter(worker)
            async with metrics_shipped(MetricStore(engine.database), "worker"):
                await worker.run()
            return
        server = await start_metrics_server(settings, lambda: _ready(worker))
        if server is not None:
            log.info("metrics_listening", port=server.port)
        try:
            async with (
                metrics_shipped(MetricStore(engine.database), "worker"),
                courier_running(engine, settings, worker.stop),
                republisher_running(engine, settings, worker.stop),
                scheduler_running(engine, settings, worker.stop),
                files_swept(engine, settings),
            ):
                await worker.run()
        finally:
            if server is not None:
                await server.close()

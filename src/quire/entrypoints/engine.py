"""Wires the job engine: the one place that names its adapters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from quire.convert import KIND as CONVERT_KIND
from quire.convert import accepting_convert_handler, log_transition
from quire.entrypoints.brokers import open_broker
from quire.entrypoints.convert import convert_policies
from quire.entrypoints.dsn import find_dsn
from quire.entrypoints.migrate import head_revision
from quire.entrypoints.shipped import shipped_dir
from quire.entrypoints.storage_adoption import adopt_storage
from quire.jobs import (
    Admission,
    AdmitAll,
    Broker,
    Handler,
    HandlerRegistry,
    Intake,
    Policies,
    diagnostic_handlers,
    load_policies,
    watch_transitions,
)
from quire.jobs.application.brokers.inbox import Inbox
from quire.jobs.infrastructure.postgres.artifact_store import StoredArtifacts
from quire.jobs.infrastructure.postgres.expiry_store import PostgresExpiryStore
from quire.jobs.infrastructure.postgres.integration_gate import PostgresIntegrationGate
from quire.jobs.infrastructure.postgres.job_board import PostgresJobBoard
from quire.jobs.infrastructure.postgres.lease_store import PostgresLeaseStore
from quire.jobs.infrastructure.postgres.merged_submissions import MergedSubmissionStore
from quire.jobs.infrastructure.postgres.problem_log import PostgresProblemLog
from quire.jobs.infrastructure.postgres.worker_registry import PostgresWorkerRegistry
from quire.render import KIND as RENDER_KIND
from quire.render import accepting_handler, count_transition
from quire.runtime.database import Database
from quire.runtime.settings import Settings
from quire.runtime.storage import StorageBackend, UrlSigner, open_storage
from quire.runtime.telemetry import require_schema


@dataclass(frozen=True, slots=True)
class Engine:
    """Everything that a process may do with jobs."""

    dsn: str
    listen_dsn: str
    database: Database
    storage: StorageBackend
    policies: Policies
    handlers: HandlerRegistry
    broker: Broker
    submissions: MergedSubmissionStore
    leases: PostgresLeaseStore
    board: PostgresJobBoard
    problems: PostgresProblemLog
    gate: PostgresIntegrationGate
    registry: PostgresWorkerRegistry
    artifacts: StoredArtifacts
    expiry: PostgresExpiryStore
    intake: Intake


def shipped_handlers(settings: Settings) -> list[Handler]:
    """Every kind that this installation knows. Kinds that need more than code (a browser, a gateway) get their
    working handler in the worker: see `entrypoints/render.py` and `entrypoints/convert.py`."""
    diagnostics = diagnostic_handlers(public=settings.diagnostic_kinds)
    return [*diagnostics, accepting_handler(), accepting_convert_handler()]


def read_policies(settings: Settings) -> Policies:
    return convert_policies(load_policies(settings.config_dir or shipped_dir("config")), settings)


@asynccontextmanager
async def open_engine(
    settings: Settings,
    *,
    application: str,
    signer: UrlSigner | None = None,
    handlers: Iterable[Handler] | None = None,
    admission: Admission | None = None,
    by_key: bool = False,
    inbox: Inbox | None = None,
) -> AsyncIterator[Engine]:
    """Opens database and storage and builds the parts; the caller starts the broker if it wants to be woken.
    Refuses a database whose schema is older than this code (SCHEMA_BEHIND).
    `inbox`: where another program's consumer, not ours, puts what messages name."""
    policies = read_policies(settings)
    dsn = find_dsn(settings)
    async with AsyncExitStack() as stack:
        database = await Database.open(
            dsn,
            pool_max=settings.database_pool_max,
            statement_timeout_seconds=settings.statement_timeout_seconds,
            application=application,
            by_key=by_key,
        )
        stack.push_async_callback(database.close)
        await require_schema(database, head_revision())
        intake = database if by_key else await _open_intake(dsn, settings, application)
        stack.push_async_callback(intake.close)
        storage = await stack.enter_async_context(open_storage(settings, signer=signer))
        await adopt_storage(database, storage)
        registry = HandlerRegistry(shipped_handlers(settings) if handlers is None else handlers)
        engine = build_engine(
            database,
            storage,
            policies,
            registry,
            settings,
            dsn,
            admission=admission or AdmitAll(),
            intake_database=intake,
            inbox=inbox,
        )
        stack.push_async_callback(engine.broker.close)
        await engine.board.register_policies(policies)
        watch_transitions(RENDER_KIND, count_transition)
        watch_transitions(CONVERT_KIND, log_transition, logs=True)
        yield engine


async def _open_intake(dsn: str, settings: Settings, application: str) -> Database:
    """Accepting work is one statement by key; planning it anew each time costs more than running it."""
    return await Database.open(
        dsn,
        pool_max=4,
        statement_timeout_seconds=settings.statement_timeout_seconds,
        application=f"{application}-intake",
        by_key=True,
    )


def build_engine(
    database: Database,
    storage: StorageBackend,
    policies: Policies,
    handlers: HandlerRegistry,
    settings: Settings,
    dsn: str,
    *,
    admission: Admission,
    intake_database: Database | None = None,
    inbox: Inbox | None = None,
) -> Engine:
    listen_dsn = settings.listen_dsn or dsn
    broker = open_broker(settings, database, listen_dsn, inbox)
    submissions = MergedSubmissionStore(intake_database or database)
    registry = PostgresWorkerRegistry(database)
    artifacts = StoredArtifacts(database, storage)
    return Engine(
        dsn=dsn,
        listen_dsn=listen_dsn,
        database=database,
        storage=storage,
        policies=policies,
        handlers=handlers,
        broker=broker,
        submissions=submissions,
        leases=PostgresLeaseStore(database, policies),
        board=PostgresJobBoard(database),
        problems=PostgresProblemLog(database, policies.queues),
        gate=PostgresIntegrationGate(database),
        registry=registry,
        artifacts=artifacts,
        expiry=PostgresExpiryStore(database),
        intake=Intake(submissions, artifacts, broker, admission, handlers, policies),
    )

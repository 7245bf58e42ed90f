"""The real engine on a fresh database with policies made for tests, and workers that run inside the test's loop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from uuid import UUID, uuid4

from quire.entrypoints.engine import Engine, open_engine, shipped_handlers
from quire.entrypoints.worker import build_worker
from quire.jobs import Handler, Job, JobDetail, JobRequest, Receipt, Worker, enqueue_jobs
from quire.jobs.domain.job import Submission
from quire.jobs.domain.lease import Lease
from quire.jobs.domain.outcome import Failed, Succeeded
from quire.jobs.domain.problem import Problem
from quire.jobs.ports.v1.job_board import Sight
from quire.jobs.ports.v1.lease_store import Claim, DeadLetter
from quire.kernel import new_uuid7
from quire.runtime.settings import Settings, load_settings

QUEUES = """
version: 1
queues:
  default: {class: small}
  medium: {class: medium}
  large: {class: large}
  xlarge: {class: xlarge}
  brief: {class: small, hard_limit_seconds: 0.8, soft_limit_seconds: 0.3}
  fair: {class: small, fair: tenants}
  capped: {class: small, tenant_quota: {running: 3}}
  quota: {class: small, tenant_quota: {queued: 10}}
  gateway: {class: small, integration: gateway}
  metered: {class: small, integration: metered}
  narrow: {class: small, integration: narrow}
kinds:
  jobs.noop:
    queues: &all [default, medium, large, xlarge, brief, fair, capped, quota, gateway, metered, narrow]
    size_classes: [small, medium, large, xlarge]
    ttl_seconds: 3600
  jobs.echo: {queues: *all}
  jobs.fail: {queues: *all}
  jobs.sleep: {queues: *all}
  jobs.store: {queues: *all}
  test.call: {queues: [default, gateway]}
  test.record: {queues: *all}
  test.hold: {queues: [default, fair, metered, gateway, medium, large, xlarge]}
  test.brief: {queue: brief, timeout_code: TEST_TIMEOUT}
  test.deferred: {queue: default, deferral_limit_seconds: 1}
  test.served: {queue: default, require_worker: true, unavailable_code: TEST_UNAVAILABLE}
"""
RETRIES = """
version: 1
max_crashes: 3
dead_letter_days: 10
kinds:
  jobs.fail:
    - {codes: [TRANSIENT], attempts: 3, base_seconds: 0.01, jitter: none}
    - {codes: [SLOW], attempts: 3, base_seconds: 600, jitter: none}
    - {codes: [BY_CLASS], class: small, attempts: 2, base_seconds: 0.01, jitter: none}
"""
THROTTLING = """
version: 1
integrations:
  gateway:
    breaker: {failure_codes: [GATEWAY_DOWN], minimum_calls: 3, failure_ratio: 0.5, open_seconds: 0.5}
  metered: {rate_per_second: 20, burst: 5}
  narrow: {max_concurrency: 4}
"""
EVERYTHING = Sight(None)


def write_config(directory: Path, **files: str) -> Path:
    """The test policies, with whole files replaced by name: `queues=...`."""
    folder = directory / f"config-{uuid4().hex[:8]}"
    folder.mkdir(parents=True)
    texts = {"queues": QUEUES, "retries": RETRIES, "throttling": THROTTLING, **files}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def engine_settings(dsn: str, directory: Path, **overrides: object) -> Settings:
    values: dict[str, object] = {
        "DATABASE_URL": dsn,
        "QUIRE_STORAGE_URL": f"file:{directory / 'storage'}",
        "QUIRE_DATA_DIR": str(directory),
        "QUIRE_SECRET_KEY": "a secret that only tests know",
        "QUIRE_DIAGNOSTIC_KINDS": True,
        "WORKER_POLL_SEC": 0.2,
        "WORKER_RECLAIM_SEC": 0.1,
        "WORKER_SHUTDOWN_GRACE_SEC": 0.5,
        **overrides,
    }
    values.setdefault("QUIRE_CONFIG_DIR", str(write_config(directory)))
    return load_settings(**values)


@contextlib.asynccontextmanager
async def opened_engine(
    dsn: str, directory: Path, *, handlers: Iterable[Handler] = (), **overrides: object
) -> AsyncIterator[Engine]:
    settings = engine_settings(dsn, directory, **overrides)
    kinds = [*shipped_handlers(settings), *handlers]
    async with open_engine(settings, application="test-engine", handlers=kinds) as engine:
        yield engine


@contextlib.asynccontextmanager
async def working(
    dsn: str, directory: Path, *, handlers: Iterable[Handler] = (), **overrides: object
) -> AsyncIterator[Worker]:
    """A whole worker with an engine of its own, as in a process of its own. Stopped with haste at the end."""
    settings = engine_settings(dsn, directory, **overrides)
    kinds = [*shipped_handlers(settings), *handlers]
    async with open_engine(settings, application="test-worker", handlers=kinds) as engine:
        worker = build_worker(engine, settings)
        task = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            worker.stop()
            await asyncio.wait_for(task, 15)


@contextlib.asynccontextmanager
async def engine_at_work(
    dsn: str, directory: Path, *, handlers: Iterable[Handler] = (), **overrides: object
) -> AsyncIterator[Engine]:
    """An engine to ask, and one worker that works."""
    kinds = list(handlers)
    async with (
        opened_engine(dsn, directory, handlers=kinds, **overrides) as engine,
        working(dsn, directory, handlers=kinds, **overrides),
    ):
        yield engine


async def until(condition: Callable[[], Awaitable[object]], seconds: float = 10.0) -> None:
    """Looks often, gives up at the deadline: the condition is the signal."""
    deadline = time.monotonic() + seconds
    while not await condition():
        if time.monotonic() > deadline:
            raise AssertionError("the condition did not come true in time")
        await asyncio.sleep(0.01)


async def enqueue(
    engine: Engine, *requests: JobRequest, tenant: str = "acme", by: str = "ann"
) -> list[Receipt]:
    return await enqueue_jobs(engine.intake, requests, tenant_id=tenant, created_by=by)


async def enqueue_one(
    engine: Engine,
    kind: str = "jobs.noop",
    payload: Mapping[str, object] | None = None,
    *,
    tenant: str = "acme",
    by: str = "ann",
    unique: bool = False,
    queue: str | None = None,
    depends_on: tuple[UUID, ...] = (),
) -> UUID:
    request = JobRequest(kind, payload or {}, queue=queue, unique=unique, depends_on=depends_on)
    return (await enqueue(engine, request, tenant=tenant, by=by))[0].job_id


async def claim(
    engine: Engine, worker_id: UUID, *queues: str, limit: int = 100, lease_seconds: float = 60.0
) -> Claim:
    policies = [engine.policies.queues.queue(name) for name in queues or ("default",)]
    policies.sort(key=lambda queue: (queue.priority, queue.name))
    return await engine.leases.claim(worker_id, policies, limit, lease_seconds)


async def claim_one(engine: Engine, worker_id: UUID, queue: str = "default") -> Lease:
    leases = (await claim(engine, worker_id, queue, limit=1)).leases
    assert leases, f"nothing to claim from {queue}"
    return leases[0]


async def claim_suspect(
    engine: Engine, worker_id: UUID, queue: str = "default", lease_seconds: float = 60.0
) -> Claim:
    queues = [engine.policies.queues.queue(queue)]
    return await engine.leases.claim_suspect(worker_id, queues, lease_seconds)


async def make_suspect(engine: Engine, job_id: UUID) -> None:
    """Two workers die while they run it, and everything else that is due in its queue."""
    queue = (await job_of(engine, job_id)).queue
    for _ in range(2):
        await claim(engine, uuid4(), queue)
        await run_sql(
            engine, "UPDATE jobs SET lease_expires_at = now() - interval '1 s' WHERE state = 'running'"
        )
        await engine.leases.reclaim(100)


async def complete(engine: Engine, worker_id: UUID, *leases: Lease) -> frozenset[UUID]:
    done = [Succeeded(lease, 5, 3600.0) for lease in leases]
    return (await engine.leases.complete(worker_id, done)).accepted


async def bury(engine: Engine, worker_id: UUID, lease: Lease, code: str = "TERMINAL") -> frozenset[UUID]:
    return await engine.leases.bury(worker_id, [DeadLetter(Failed(lease, 5, code, "it broke"), False)])


async def job_of(engine: Engine, job_id: UUID) -> Job:
    job = await engine.board.get(job_id, EVERYTHING)
    assert job is not None
    return job


async def detail_of(engine: Engine, job_id: UUID) -> JobDetail:
    detail = await engine.board.detail(job_id, EVERYTHING)
    assert detail is not None
    return detail


async def problem_of(engine: Engine, job_id: UUID) -> Problem:
    problem_id = await engine.problems.open_of_job(job_id)
    assert problem_id is not None, f"job {job_id} has no open problem"
    problem = await engine.problems.get(problem_id, EVERYTHING)
    assert problem is not None
    return problem


async def state_is(engine: Engine, job_id: UUID, *states: str) -> bool:
    return (await job_of(engine, job_id)).state in states


async def ended(engine: Engine, *job_ids: UUID, seconds: float = 10.0) -> list[Job]:
    """The jobs, once all of them have ended."""

    async def all_ended() -> bool:
        return len(await engine.board.ended_among(job_ids)) == len(set(job_ids))

    await until(all_ended, seconds)
    return [await job_of(engine, job_id) for job_id in job_ids]


async def run_sql(engine: Engine, sql: str, *arguments: object) -> list[tuple[object, ...]]:
    async with engine.database.acquire() as connection:
        return [tuple(row) for row in await connection.fetch(sql, *arguments)]


async def expire_lease(engine: Engine, job_id: UUID) -> None:
    await run_sql(engine, "UPDATE jobs SET lease_expires_at = now() - interval '1 s' WHERE id = $1", job_id)


def submission(**fields: object) -> Submission:
    """A stored form of one request, for tests that drive the store itself."""
    values: dict[str, object] = {
        "id": new_uuid7(),
        "kind": "jobs.noop",
        "queue": "default",
        "priority": 0,
        "tenant_id": "acme",
        "created_by": "ann",
        "payload_text": "{}",
        **fields,
    }
    return Submission(**values)  # type: ignore[arg-type]

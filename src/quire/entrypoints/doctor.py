"""Looks at every part Quire stands on and says whether it is fit and how to mend it. Changes nothing."""

from __future__ import annotations

import asyncio
import platform
import shutil
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import asyncpg

from quire.entrypoints.brokers import broker_name, open_messenger
from quire.entrypoints.convert import can_convert, open_gateway_client
from quire.entrypoints.dsn import find_dsn
from quire.entrypoints.engine import read_policies
from quire.entrypoints.home import Home
from quire.entrypoints.migrate import applied_revision, head_revision
from quire.entrypoints.render import can_print, open_templates
from quire.entrypoints.shipped import shipped_dir
from quire.jobs.application.upkeep.gauge_refresher import BACKLOG_MAX
from quire.jobs.application.upkeep.sweeper import STRAY_SECONDS
from quire.jobs.domain.job import QueueDepth
from quire.jobs.domain.policies import RetentionPolicy
from quire.jobs.infrastructure.postgres.expiry_store import PostgresExpiryStore
from quire.jobs.infrastructure.postgres.job_board import PostgresJobBoard
from quire.jobs.infrastructure.postgres.worker_registry import PostgresWorkerRegistry
from quire.jobs.infrastructure.yaml.schedules import load_schedules
from quire.jobs.infrastructure.yaml.webhook_policy import load_webhook_policy
from quire.kernel import QuireError
from quire.render.infrastructure.chromium import ChromiumOptions, ChromiumPrinter
from quire.runtime.database import Connection, Database, DatabaseRefusedError
from quire.runtime.settings import Settings
from quire.runtime.storage import (
    StorageRefusedError,
    StorageUnavailableError,
    StorageUnmarkedError,
    open_storage,
    prove_storage,
)

Status = Literal["ok", "warn", "fail"]

OLDEST_PYTHON = (3, 11)
POSTGRES_VERSIONS = range(15, 19)
SKEW_WARN_SECONDS = 2.0
# Signed URLs and token expiry compare the host's clock with what the database wrote.
SKEW_FAIL_SECONDS = 60.0
DISK_WARN_BYTES = 5 << 30
DISK_FAIL_BYTES = 512 << 20

UNMARKED_FIX = "the first start makes it; if this installation has finished jobs, mount their disk first"
# So many sweeps in a row did not get to it.
SWEEPS_MISSED = 3

# known_queues: every queue that a process has registered; no locks.
KNOWN_QUEUES = "SELECT name FROM queues ORDER BY name"

# paused_queues: what is not claimed, and since when; no locks.
PAUSED_QUEUES = "SELECT name, paused_by, paused_at FROM queues WHERE paused_at IS NOT NULL ORDER BY name"

# unwell_integrations: what jobs are held for, and since when; no locks.
UNWELL_INTEGRATIONS = "SELECT name, changed_at FROM integrations WHERE breaker <> 'closed' ORDER BY name"


@dataclass(frozen=True)
class Finding:
    part: str
    status: Status
    detail: str
    fix: str = ""


async def examine(settings: Settings) -> list[Finding]:
    findings = [check_python(), check_disk(settings.data_dir), check_config(settings)]
    findings += [finding async for finding in _check_database(settings)]
    findings += [await check_broker(settings), await check_storage(settings), await check_gateway(settings)]
    findings += [check_templates(settings), await check_browser(settings)]
    return findings


def check_python() -> Finding:
    detail = platform.python_version()
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return Finding("python", "ok", detail)
    return Finding("python", "fail", detail, "install Python 3.11 or newer, remove .venv, run `make setup`")


def check_disk(data_dir: Path) -> Finding:
    place = next(path for path in (data_dir.absolute(), *data_dir.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    detail = f"{free / (1 << 30):.1f} GiB free at {place}"
    status: Status = "fail" if free < DISK_FAIL_BYTES else "warn" if free < DISK_WARN_BYTES else "ok"
    return Finding("disk", status, detail, "" if status == "ok" else "free space or move QUIRE_DATA_DIR")


def check_config(settings: Settings) -> Finding:
    try:
        _read_config(settings)
    except QuireError as error:
        return Finding("config", "fail", f"{error.code}: {error.detail}", "correct the file named above")
    return Finding("config", "ok", f"of {settings.config_dir or 'this release'}")


def _read_config(settings: Settings) -> None:
    """Every policy file that a process reads at start."""
    config_dir = settings.config_dir or shipped_dir("config")
    read_policies(settings)
    load_schedules(config_dir)
    load_webhook_policy(config_dir)


async def check_broker(settings: Settings) -> Finding:
    """A broker that wakes workers without Postgres; Postgres itself is looked at above."""
    try:
        messenger = open_messenger(settings)
        if messenger is None:
            return Finding("broker", "ok", "Postgres wakes workers")
        await asyncio.to_thread(messenger.ping)
        await asyncio.to_thread(messenger.close)
    except QuireError as error:
        fix = "start it, or correct QUIRE_BROKER_URL; meanwhile jobs run at the workers' next poll"
        return Finding("broker", "fail", f"{error.code}: {error.detail}", fix)
    return Finding("broker", "ok", f"{broker_name(settings)} answers")


async def check_storage(settings: Settings) -> Finding:
    settings = _with_home_storage(settings)
    in_bucket = settings.storage_url.startswith("s3:")
    try:
        async with open_storage(settings) as storage:
            proof = await prove_storage(storage)
    except StorageUnmarkedError as error:
        fix = _bucket_fix(error) if in_bucket else UNMARKED_FIX
        return Finding("storage", "fail" if in_bucket else "warn", f"{error.code}: {error.detail}", fix)
    except QuireError as error:
        fix = _bucket_fix(error) if in_bucket else "check QUIRE_STORAGE_URL, its permissions and free space"
        return Finding("storage", "fail", f"{error.code}: {error.detail}", fix)
    detail = f"put {proof.put_ms} ms, get {proof.get_ms} ms, delete {proof.delete_ms} ms"
    return Finding("storage", "ok", detail)


def _bucket_fix(error: QuireError) -> str:
    if isinstance(error, StorageRefusedError):
        return (
            "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, what they may do in the bucket, and the clock"
        )
    if "NoSuchBucket" in error.detail:
        return "the bucket is missing: create it, or start `quire api` once with credentials that may"
    if isinstance(error, StorageUnavailableError):
        return "the S3 server does not answer: check the endpoint of QUIRE_STORAGE_URL, and that it runs"
    return "check QUIRE_STORAGE_URL and the AWS_* names"


async def check_gateway(settings: Settings) -> Finding:
    """Asks whether it is well, as a worker does when a call has failed."""
    settings, whose, fix = _with_home_gateway(settings)
    if not can_convert(settings):
        return Finding(
            "gateway", "ok", "not configured: `quire up` brings its own, other workers convert nothing"
        )
    async with open_gateway_client(settings) as gateway:
        if await gateway.answers():
            return Finding("gateway", "ok", f"{whose} answers")
    return Finding(
        "gateway", "fail", f"{whose} gives no healthy answer", f"{fix}; meanwhile conversions wait"
    )


def check_templates(settings: Settings) -> Finding:
    templates = open_templates(settings)
    try:
        for name in templates.names():
            templates.pack(name)
    except QuireError as error:
        return Finding("templates", "fail", f"{error.code}: {error.detail}", "correct the pack named above")
    return Finding("templates", "ok", ", ".join(templates.names()))


async def check_browser(settings: Settings) -> Finding:
    """Starts one and asks the kernel whether it is shut in, as a worker does before its first document."""
    if not can_print(settings):
        fix = "for documents install chromium-headless-shell, or set QUIRE_CHROMIUM"
        return Finding("browser", "warn", f"none at {settings.chromium}: this machine prints nothing", fix)
    printer = ChromiumPrinter(ChromiumOptions(executable=settings.chromium))
    try:
        await printer.check()
    except QuireError as error:
        fix = "see docs/guides/render.md, “When a machine cannot print”"
        return Finding("browser", "fail", f"{error.code}: {error.detail}", fix)
    finally:
        await printer.close()
    return Finding("browser", "ok", f"sandboxed, without network: {printer.fingerprint}")


async def _check_database(settings: Settings) -> AsyncIterator[Finding]:
    try:
        database = await Database.open(find_dsn(settings), pool_max=2, application="quire-doctor")
    except QuireError as error:
        yield Finding("database", "fail", f"{error.code}: {error.detail}", _database_fix(error))
        return
    try:
        async with database.acquire() as connection:
            yield await check_version(connection)
            yield await check_fsync(connection)
            yield await check_clock(connection)
            schema = await check_schema(connection)
            yield schema
            if schema.status != "fail":
                yield await check_workers(database)
                yield await check_queues(database)
                yield await check_sweep(database, settings)
    finally:
        await database.close()


def _database_fix(error: QuireError) -> str:
    if isinstance(error, DatabaseRefusedError):
        return "check role, password and database name of DATABASE_URL, and the server's pg_hba.conf"
    return "start `quire up`, or set DATABASE_URL to a Postgres that runs and is reachable from here"


async def check_version(connection: Connection) -> Finding:
    number: int = connection.get_server_version().major
    detail = f"Postgres {await connection.fetchval('SHOW server_version')}"
    if number in POSTGRES_VERSIONS:
        return Finding("database", "ok", detail)
    return Finding("database", "fail", detail, "use Postgres 15 to 18")


async def check_fsync(connection: Connection) -> Finding:
    off = [
        name for name in ("fsync", "full_page_writes") if await connection.fetchval(f"SHOW {name}") != "on"
    ]
    if await connection.fetchval("SHOW synchronous_commit") == "off":
        off.append("synchronous_commit")
    if not off:
        return Finding("durability", "ok", "every commit is on disk when acknowledged")
    return Finding(
        "durability", "fail", f"off: {', '.join(off)}", "a crash would lose accepted work: turn it on"
    )


async def check_clock(connection: Connection) -> Finding:
    before = datetime.now(UTC)
    theirs = await connection.fetchval("SELECT clock_timestamp()")
    after = datetime.now(UTC)
    # Only what the round trip cannot explain is skew.
    skew = max((before - theirs).total_seconds(), (theirs - after).total_seconds(), 0.0)
    status: Status = "ok" if skew < SKEW_WARN_SECONDS else "warn" if skew < SKEW_FAIL_SECONDS else "fail"
    fix = "" if status == "ok" else "synchronise both clocks (NTP)"
    return Finding("clock", status, f"{skew:.1f} s between host and database", fix)


async def check_schema(connection: Connection) -> Finding:
    head = head_revision()
    applied = await applied_revision(connection)
    if applied == head:
        return Finding("schema", "ok", f"at {head}")
    if applied is not None and applied > head:
        return Finding("schema", "ok", f"at {applied}, newer than this release's {head}, which works with it")
    return Finding("schema", "fail", f"at {applied or 'nothing'}, newest is {head}", "run `quire migrate`")


async def check_workers(database: Database) -> Finding:
    count = len(await PostgresWorkerRegistry(database).live())
    if count:
        return Finding("workers", "ok", f"{count} alive")
    return Finding("workers", "warn", "none alive: jobs wait", "start `quire up` or `quire worker`")


async def check_queues(database: Database) -> Finding:
    """Why work stands still. A pause is somebody's decision and no fault, but work waits behind it all the same."""
    async with database.acquire() as connection:
        held = await connection.fetch(UNWELL_INTEGRATIONS)
        paused = await connection.fetch(PAUSED_QUEUES)
        known = [row["name"] for row in await connection.fetch(KNOWN_QUEUES)]
    depths = await PostgresJobBoard(database).queue_depths(known)
    reasons = [*_held(held), *_unserved(depths), *_paused(paused)]
    if not reasons:
        return Finding("queues", "ok", "none is paused, held or without a worker for its jobs")
    details, fixes = zip(*reasons, strict=True)
    return Finding("queues", "warn", "; ".join(details), "; ".join(fixes))


# Each yields what stands still and how to mend it.
def _held(rows: Sequence[asyncpg.Record]) -> Iterator[tuple[str, str]]:
    if rows:
        names = [f"{row['name']} (since {row['changed_at']:%F %R} UTC)" for row in rows]
        detail = f"jobs are held, since it does not answer: {', '.join(names)}"
        yield detail, "mend it; the queue goes on by itself"


def _unserved(depths: Sequence[QueueDepth]) -> Iterator[tuple[str, str]]:
    found = [depth for depth in depths if (depth.queued or depth.waiting) and not depth.live_workers]
    if found:
        names = [f"{depth.queue} ({_work_of(depth)})" for depth in found]
        fix = f"start `quire worker --queues {','.join(depth.queue for depth in found)}`"
        yield f"no worker serves {', '.join(names)}", fix


def _work_of(depth: QueueDepth) -> str:
    counts = {"queued": depth.queued, "waiting": depth.waiting}
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


def _paused(rows: Sequence[asyncpg.Record]) -> Iterator[tuple[str, str]]:
    if rows:
        names = [f"{row['name']} (by {row['paused_by']} since {row['paused_at']:%F %R} UTC)" for row in rows]
        yield f"paused: {', '.join(names)}", "`quire queues resume NAME`"


async def check_sweep(database: Database, settings: Settings) -> Finding:
    """What is due is swept within an interval and the sweep's own time; what waits longer means it falls behind."""
    found = await PostgresExpiryStore(database).backlog(_job_days(settings), STRAY_SECONDS, BACKLOG_MAX)
    patience = SWEEPS_MISSED * settings.sweep_seconds
    late = [item for item in found if item.due and item.oldest_seconds > patience]
    if not late:
        return Finding("sweep", "ok", f"{sum(item.due for item in found)} due, none for long")
    said = [f"{item.chore} of {_many(item.due)} for {item.oldest_seconds / 3600:.1f} h" for item in late]
    fix = (
        "make sure that a worker runs, look for `sweep` and `sweep_failed` in its log, lower QUIRE_SWEEP_SEC"
    )
    return Finding("sweep", "warn", f"overdue: {', '.join(said)}", fix)


def _many(count: int) -> str:
    return f"{count} or more" if count >= BACKLOG_MAX else str(count)


def _job_days(settings: Settings) -> float:
    try:
        return read_policies(settings).retention.job_days
    except QuireError:
        # Told above, of the file itself.
        return RetentionPolicy().job_days


def _with_home_storage(settings: Settings) -> Settings:
    """Beside `quire up` the storage is in the data directory unless the environment says otherwise."""
    if "storage_url" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"storage_url": Home(settings.data_dir).storage_url})


def _with_home_gateway(settings: Settings) -> tuple[Settings, str, str]:
    """Beside `quire up` it is the one that was brought along, unless the environment names another: the settings with
    it, whose it is, and how to mend it."""
    home = Home(settings.data_dir)
    if can_convert(settings) or not home.gateway_url.exists():
        return settings, "GATEWAY_URL", "start it (`quire gateway`), or correct GATEWAY_URL"
    own = settings.model_copy(update={"gateway_url": home.gateway_url.read_text(encoding="utf-8").strip()})
    return own, "that of `quire up`", f"see {home.logs / 'gateway.log'}, or start `quire up` again"

"""`quire doctor` on parts that are wrong: it names the part, the cause and the way out."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.gateway_process import gateway_process
from tests.support.s3_server import S3Server

from quire.entrypoints.doctor import Finding, check_config, check_queues, check_workers, examine
from quire.entrypoints.engine import read_policies
from quire.entrypoints.shipped import shipped_dir
from quire.jobs.infrastructure.postgres.job_board import PostgresJobBoard
from quire.jobs.infrastructure.postgres.worker_registry import PostgresWorkerRegistry
from quire.jobs.ports.v1.worker_registry import WorkerCard
from quire.runtime.database import Database
from quire.runtime.settings import load_settings

NO_SERVER = "http://127.0.0.1:1"
OPEN_BREAKER = """INSERT INTO integrations (name, breaker) VALUES ('gateway', 'open')
ON CONFLICT (name) DO UPDATE SET breaker = 'open', changed_at = now()"""

QUEUED_JOB = """WITH job AS (INSERT INTO jobs (id, state, queue, kind, tenant_id, created_by, priority, payload)
    VALUES (gen_random_uuid(), 'queued', 'default', 'jobs.noop', 'acme', 'ann', 0, '{}') RETURNING id)
INSERT INTO job_lanes (job_id, queue, priority, run_at, tenant_id, tenant_lane)
SELECT id, 'default', 0, now(), 'acme', false FROM job"""


async def finding_of(part: str, tmp_path: Path, **names: str) -> Finding:
    names = {"QUIRE_CHROMIUM": "/nonexistent", "QUIRE_DATA_DIR": str(tmp_path), **names}
    (finding,) = [found for found in await examine(load_settings(**names)) if found.part == part]
    return finding


@pytest.fixture
def credentials(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in s3_server.environment().items():
        monkeypatch.setenv(name, value)


async def test_database_that_does_not_answer_is_named(tmp_path: Path) -> None:
    finding = await finding_of("database", tmp_path, DATABASE_URL="postgresql://quire:x@127.0.0.1:1/quire")
    assert (finding.status, "DATABASE_UNAVAILABLE" in finding.detail) == ("fail", True)
    assert "reachable" in finding.fix


@pytest.mark.parametrize("wrong", ["password", "database"])
async def test_database_that_refuses_the_login_is_named(wrong: str, dsn: str, tmp_path: Path) -> None:
    start, _, database = dsn.rpartition("/")
    scheme, _, address = start.rpartition("@")
    login = f"{scheme.rpartition(':')[0]}:wrong" if wrong == "password" else scheme
    url = f"{login}@{address}/{'missing' if wrong == 'database' else database}"
    finding = await finding_of("database", tmp_path, DATABASE_URL=url)
    assert (finding.status, "DATABASE_REFUSED" in finding.detail) == ("fail", True)
    assert "pg_hba.conf" in finding.fix
    assert "wrong" not in finding.detail


async def test_workers_count_as_alive_only_while_they_beat(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    registry = PostgresWorkerRegistry(database)
    card = WorkerCard(uuid4(), "host", 1, "1.0", ("default",), 1, 60.0)
    await registry.register(card)
    await registry.beat(card.id, 0, True)
    async with database.acquire() as connection:
        await connection.execute("UPDATE worker_presence SET beat_at = now() - interval '2 seconds'")
    finding = await finding_of("workers", tmp_path, DATABASE_URL=dsn)
    assert (finding.status, finding.detail) == ("warn", "none alive: jobs wait")
    await registry.beat(card.id, 0, True)
    # A beat counts for less than a second, and the doctor has other things to look at: it is asked alone.
    assert (await check_workers(database)).detail == "1 alive"


async def test_paused_queue_is_named_and_no_failure(dsn: str, database: Database, tmp_path: Path) -> None:
    await PostgresJobBoard(database).pause("default", "default/ann")
    finding = await finding_of("queues", tmp_path, DATABASE_URL=dsn)
    assert (finding.status, "default (by default/ann since " in finding.detail) == ("warn", True)
    assert "quire queues resume" in finding.fix


async def test_held_queue_is_named_with_what_it_waits_for(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    async with database.acquire() as connection:
        await connection.execute(OPEN_BREAKER)
    finding = await finding_of("queues", tmp_path, DATABASE_URL=dsn)
    assert (finding.status, "held" in finding.detail, "gateway" in finding.detail) == ("warn", True, True)


async def test_queue_with_work_and_no_worker_is_named(dsn: str, database: Database, tmp_path: Path) -> None:
    board = PostgresJobBoard(database)
    await board.register_policies(read_policies(load_settings()))
    finding = await finding_of("queues", tmp_path, DATABASE_URL=dsn)
    assert finding.status == "ok"
    async with database.acquire() as connection:
        await connection.execute(QUEUED_JOB)
    finding = await finding_of("queues", tmp_path, DATABASE_URL=dsn)
    assert (finding.status, finding.detail) == ("warn", "no worker serves default (queued 1)")
    assert "quire worker --queues" in finding.fix
    await board.pause("default", "default/ann")
    finding = await finding_of("queues", tmp_path, DATABASE_URL=dsn)
    assert "no worker serves default (queued 1); paused: default (by default/ann since " in finding.detail
    registry = PostgresWorkerRegistry(database)
    card = WorkerCard(uuid4(), "host", 1, "1.0", ("default",), 1, 60.0)
    await registry.register(card)
    await registry.beat(card.id, 0, True)
    # A beat counts for less than a second, so the check is asked alone.
    assert "no worker" not in (await check_queues(database)).detail


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        (
            "schedules.yaml",
            'schedules:\n  nightly: {kind: jobs.noop, cron: "61 * * * *"}\n',
            "schedules.yaml:2",
        ),
        ("webhooks.yaml", "version: 2\n", "webhooks.yaml:1"),
    ],
)
async def test_mistake_in_any_policy_file_is_named_with_its_line(
    file: str, text: str, told: str, tmp_path: Path
) -> None:
    config_dir = tmp_path / "config"
    shutil.copytree(shipped_dir("config"), config_dir)
    assert check_config(load_settings(QUIRE_CONFIG_DIR=str(config_dir))).status == "ok"
    (config_dir / file).write_text(text)
    finding = check_config(load_settings(QUIRE_CONFIG_DIR=str(config_dir)))
    assert (finding.status, finding.detail.partition(":")[0]) == ("fail", "CONFIG_INVALID")
    assert told in finding.detail


async def test_schema_of_a_newer_release_is_fit(dsn: str, database: Database, tmp_path: Path) -> None:
    async with database.acquire() as connection:
        await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    finding = await finding_of("schema", tmp_path, DATABASE_URL=dsn)
    assert (finding.status, finding.detail.partition(",")[0]) == ("ok", "at 9999")


async def test_a_sweep_that_falls_behind_is_named_with_its_backlog(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    finding = await finding_of("sweep", tmp_path, DATABASE_URL=dsn)
    assert (finding.status, finding.detail) == ("ok", "0 due, none for long")
    async with database.acquire() as connection:
        await connection.execute(
            "INSERT INTO jobs (id, state, queue, kind, tenant_id, created_by, priority, payload, expires_at)"
            " SELECT gen_random_uuid(), 'succeeded', 'default', 'jobs.noop', 'acme', 'ann', 0, '{}',"
            " now() - interval '5 hours' FROM generate_series(1, 7)"
        )
    finding = await finding_of("sweep", tmp_path, DATABASE_URL=dsn)
    assert (finding.status, finding.detail) == ("warn", "overdue: expiry of 7 for 5.0 h")
    assert "QUIRE_SWEEP_SEC" in finding.fix
    finding = await finding_of("sweep", tmp_path, DATABASE_URL=dsn, QUIRE_SWEEP_SEC="7200")
    assert finding.status == "ok"


async def test_s3_server_that_does_not_answer_is_named(tmp_path: Path, credentials: None) -> None:
    url = f"s3://quire?endpoint={NO_SERVER}"
    finding = await finding_of("storage", tmp_path, QUIRE_STORAGE_URL=url)
    assert (finding.status, "STORAGE_UNAVAILABLE" in finding.detail) == ("fail", True)
    assert "does not answer" in finding.fix


async def test_missing_bucket_is_named_and_not_made(
    s3_server: S3Server, tmp_path: Path, credentials: None
) -> None:
    url = s3_server.url("quire-mistyped")
    for _ in range(2):
        finding = await finding_of("storage", tmp_path, QUIRE_STORAGE_URL=url)
        assert (finding.status, "NoSuchBucket" in finding.detail) == ("fail", True)
        assert "bucket is missing" in finding.fix


async def test_wrong_secret_of_the_bucket_is_named(
    s3_server: S3Server, tmp_path: Path, credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not the secret")
    url = s3_server.url("quire-contract")
    finding = await finding_of("storage", tmp_path, QUIRE_STORAGE_URL=url)
    assert (finding.status, "STORAGE_REFUSED" in finding.detail) == ("fail", True)
    assert "AWS_SECRET_ACCESS_KEY" in finding.fix
    assert "not the secret" not in finding.detail


@pytest.mark.parametrize("url", [NO_SERVER, "http://[nowhere", "nonsense"])
async def test_gateway_that_does_not_answer_is_named(url: str, tmp_path: Path) -> None:
    finding = await finding_of("gateway", tmp_path, GATEWAY_URL=url)
    assert (finding.status, "no healthy answer" in finding.detail) == ("fail", True)
    assert "GATEWAY_URL" in finding.fix


async def test_gateway_that_is_unwell_is_named_and_one_that_answers_is_fit(tmp_path: Path) -> None:
    with gateway_process() as gateway:
        fit = await finding_of("gateway", tmp_path, GATEWAY_URL=gateway.url)
        gateway.say_health(500)
        unwell = await finding_of("gateway", tmp_path, GATEWAY_URL=gateway.url)
    assert (fit.status, unwell.status) == ("ok", "fail")


async def test_gateway_of_quire_up_that_does_not_answer_is_named_with_its_log(tmp_path: Path) -> None:
    (tmp_path / "gateway.url").write_text(f"{NO_SERVER}\n")
    finding = await finding_of("gateway", tmp_path, GATEWAY_URL="")
    assert (finding.status, finding.detail) == ("fail", "that of `quire up` gives no healthy answer")
    assert str(tmp_path / "logs" / "gateway.log") in finding.fix


async def test_no_gateway_is_no_fault(tmp_path: Path) -> None:
    finding = await finding_of("gateway", tmp_path, GATEWAY_URL="")
    assert (finding.status, finding.detail.partition(":")[0]) == ("ok", "not configured")

"""`quire doctor` on parts that are wrong: it names the part, the cause and the way out."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest
from tests.contract.s3_server import S3Server
from tests.fault.gateway_process import gateway_process

from quire.entrypoints.doctor import Finding, check_workers, examine
from quire.jobs.infrastructure.postgres.job_board import PostgresJobBoard
from quire.jobs.infrastructure.postgres.worker_registry import PostgresWorkerRegistry
from quire.jobs.ports.v1.worker_registry import WorkerCard
from quire.runtime.database import Database
from quire.runtime.settings import load_settings

NO_SERVER = "http://127.0.0.1:1"
OPEN_BREAKER = """INSERT INTO integrations (name, breaker) VALUES ('gateway', 'open')
ON CONFLICT (name) DO UPDATE SET breaker = 'open', changed_at = now()"""


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

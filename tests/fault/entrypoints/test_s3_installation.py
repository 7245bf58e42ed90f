"""A whole installation on S3: printed and fetched through presigned URLs, workers killed, the S3 server away."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
import yaml
from tests.support.auditor import Auditor, all_ended, stored_keys
from tests.support.load import Enqueuer, engine_door, enqueue
from tests.support.processes import WorkerYard, running_under
from tests.support.records import each_reaches
from tests.support.s3_server import S3Server, start_s3_server
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest
from quire.runtime.auth import TenantStore, TokenGrant, TokenStore
from quire.runtime.database import Database
from quire.runtime.storage.location import S3Location
from quire.runtime.storage.s3_client import s3_client

BUCKET = "quire-installation"
API = ("-m", "quire", "api", "--port", "0")
JOBS = 60
KILLS = 2


@pytest.fixture(scope="module")
def bucket_server() -> Iterator[S3Server]:
    """One of its own, for it is stopped and started. A short path: unix sockets may have 107 characters."""
    with tempfile.TemporaryDirectory(prefix="quire-s3-") as directory:
        server = start_s3_server(Path(directory))
        try:
            yield server
        finally:
            server.stop()


def outside(server: S3Server) -> str:
    """By the name that clients use; processes use the address."""
    return server.endpoint.replace("127.0.0.1", "localhost")


@pytest.fixture
def max_crashes() -> int:
    return 100


@pytest.fixture
def site(
    dsn: str, tmp_path: Path, max_crashes: int, bucket_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> Site:
    """Each test has a prefix of its own in the one bucket."""
    for name, value in bucket_server.environment().items():
        monkeypatch.setenv(name, value)
    url = f"{bucket_server.url(BUCKET, prefix=tmp_path.name)}&public={outside(bucket_server)}"
    names = {"QUIRE_STORAGE_URL": url}
    site = Site(dsn, tmp_path / "site", max_crashes, names)
    retries = yaml.safe_load((site.config_dir / "retries.yaml").read_text())
    # An outage here is short, and so is the patience of a test.
    retries["kinds"]["*"][0] |= {"attempts": 50, "base_seconds": 0.5, "cap_seconds": 2}
    (site.config_dir / "retries.yaml").write_text(yaml.safe_dump(retries))
    return site


@pytest.fixture
async def token(dsn: str) -> str:
    database = await Database.open(dsn, application="test")
    try:
        await TenantStore(database).create("acme", "acme")
        grant = TokenGrant("acme", "ann", "test", "admin", frozenset({"raw_html"}), None)
        _, parts = await TokenStore(database).create(grant, created_by="test")
        return parts.text
    finally:
        await database.close()


@pytest.fixture
async def http(yard: WorkerYard, token: str) -> AsyncIterator[httpx.AsyncClient]:
    (said, *_) = await yard.start(API).said("api_listening", within_seconds=60)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=str(said["url"]), headers=headers, timeout=60) as http:
        yield http


async def ended(http: httpx.AsyncClient, job_id: str) -> dict[str, Any]:
    async def probe() -> dict[str, Any] | None:
        job: dict[str, Any] = (await http.get(f"/jobs/{job_id}", params={"wait": 10})).json()
        return job if job["state"] in {"succeeded", "failed"} else None

    job = await eventually(probe, "the end of the job", within_seconds=90)
    assert job is not None
    return job


async def unfinished_uploads(server: S3Server) -> list[str]:
    async with s3_client(S3Location(BUCKET, server.endpoint), server.environment()) as client:
        found = await client.list_multipart_uploads(Bucket=BUCKET)
    return [upload["Key"] for upload in found.get("Uploads", ())]


async def test_document_is_printed_into_the_bucket_and_fetched_from_it_by_a_presigned_url(
    http: httpx.AsyncClient, yard: WorkerYard, engine: Engine, bucket_server: S3Server
) -> None:
    await yard.start().started()
    page = {"template_name": "raw_html", "payload": {"html": "<h1>In a bucket</h1>"}}

    async def accepted() -> str | None:
        answer = await http.post("/pdf/jobs", json=page)
        return answer.json()["job_id"] if answer.status_code == 202 else None

    job_id = str(await eventually(accepted, "a live renderer", within_seconds=60))
    job = await ended(http, job_id)
    assert job["state"] == "succeeded", job
    url = job["artifact"]["download_url"]
    assert url.startswith(outside(bucket_server))
    async with httpx.AsyncClient(timeout=60) as stranger:
        fetched = await stranger.get(url)
        assert (await stranger.get(url.replace("Signature=", "Signature=0"))).status_code == 403
    assert fetched.content.startswith(b"%PDF-")
    assert hashlib.sha256(fetched.content).hexdigest() == job["artifact"]["sha256"]
    assert (await http.get(f"/pdf/jobs/{job_id}/download")).content == fetched.content
    await Auditor(engine, None, [UUID(job_id)]).report()


def long_requests(round_number: int) -> list[JobRequest]:
    """So that each kill hits something: the others last a tenth of a second."""
    return [JobRequest("jobs.store", {"text": f"long {round_number}.{n}", "seconds": 1.0}) for n in range(16)]


async def holds_one_of(engine: Engine, worker_id: UUID, job_ids: list[UUID]) -> None:
    async def probe() -> bool:
        return not set(job_ids).isdisjoint(await running_under(engine, worker_id))

    await eventually(probe, "a long job of the worker")


async def test_every_artifact_is_in_the_bucket_once_while_workers_are_killed(
    site: Site, engine: Engine, yard: WorkerYard, bucket_server: S3Server
) -> None:
    workers = [yard.start(WORKER_CONCURRENCY=8) for _ in range(2)]
    long: list[UUID] = []
    with Enqueuer(engine_door(site), batch=10, pause_seconds=0.3) as client:
        for kill in range(KILLS):
            victim = workers[kill % 2]
            victim_id = await victim.started()
            long += await enqueue(engine, *long_requests(kill))
            await holds_one_of(engine, victim_id, long)
            # A random moment of its work, not the one just after a claim.
            await asyncio.sleep(random.uniform(0, 0.2))
            victim.kill()
            workers[kill % 2] = yard.start(WORKER_CONCURRENCY=8)
        await client.reaches(JOBS)
    await all_ended(engine)
    accepted = client.accepted + long
    report = await Auditor(engine, None, accepted).report()
    print(f"{len(accepted)} jobs, {report.reclaims} reclaims")
    assert report.states == {"succeeded": len(accepted)}, report.errors
    assert report.reclaims > 0
    assert await unfinished_uploads(bucket_server) == []


async def test_jobs_wait_for_a_storage_that_is_away_and_leave_nothing_stray_in_it(
    engine: Engine, yard: WorkerYard, http: httpx.AsyncClient, bucket_server: S3Server
) -> None:
    await yard.start(WORKER_CONCURRENCY=4).started()
    before = await enqueue(engine, JobRequest("jobs.store", {"text": "before"}))
    await all_ended(engine)
    bucket_server.stop()
    during = await enqueue(engine, *(JobRequest("jobs.store", {"text": f"during {n}"}) for n in range(8)))
    await each_reaches(engine, during, lambda job: job.retry_count > 0, "a retry of each", within_seconds=60)
    answer = await http.get(f"/jobs/{before[0]}/artifact")
    assert (answer.status_code, answer.json()["error_code"]) == (503, "STORAGE_UNAVAILABLE")
    assert answer.json()["retryable"]

    with restarted(bucket_server):
        await all_ended(engine, within_seconds=90)
        assert (await http.get(f"/jobs/{before[0]}/artifact")).content == b"before"
        report = await Auditor(engine, None, before + during).report()
        assert report.states == {"succeeded": len(during) + 1}, report.errors
        assert report.retries >= len(during)
        assert len(await stored_keys(engine)) == len(during) + 1


@contextlib.contextmanager
def restarted(server: S3Server) -> Iterator[None]:
    again = server.started_again()
    try:
        yield
    finally:
        again.stop()

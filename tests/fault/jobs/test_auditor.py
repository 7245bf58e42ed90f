"""The auditor finds what it is there to find: a fault planted after a flawless run never passes."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from tests.support.auditor import Auditor, all_ended, stored_keys
from tests.support.load import enqueue, mixed_requests
from tests.support.site import Site

from quire.entrypoints.engine import Engine
from quire.entrypoints.worker import build_worker
from quire.runtime.settings import load_settings

JOBS = 8
ONE = "(SELECT id FROM jobs WHERE kind = 'jobs.store' ORDER BY id LIMIT 1)"
EVENT = "job_events (job_id, attempt, fence, from_state, to_state, actor)"
PLANTS = {
    "accepted and lost": f"DELETE FROM jobs WHERE id = {ONE}",
    "still queued": f"UPDATE jobs SET state = 'queued', finished_at = NULL WHERE id = {ONE}",
    "2 successes": f"INSERT INTO {EVENT} SELECT id, 1, 1, 'running', 'succeeded', 'x' FROM jobs WHERE id = {ONE}",
    "is no edge": f"UPDATE job_events SET from_state = 'waiting' WHERE job_id = {ONE} AND to_state = 'running'",
    "is followed by": f"UPDATE job_events SET to_state = 'waiting' WHERE job_id = {ONE} AND from_state IS NULL",
    "fence 0 after 0": f"UPDATE job_events SET fence = 0 WHERE job_id = {ONE} AND to_state = 'running'",
    "under a stale fence": f"UPDATE job_events SET fence = 9 WHERE job_id = {ONE} AND to_state = 'succeeded'",
    "crashes": f"UPDATE jobs SET crash_count = 1 WHERE id = {ONE}",
    "attempts": f"UPDATE jobs SET attempt = 2 WHERE id = {ONE}",
    "0 artifacts": f"DELETE FROM artifacts WHERE job_id = {ONE}",
    "2 artifacts": "INSERT INTO artifacts SELECT artifact_key || 'x', job_id, fence, tenant_id, state, content_type,"
    f" filename, size_bytes, sha256 FROM artifacts WHERE job_id = {ONE}",
    "not what was promised": f"UPDATE artifacts SET sha256 = repeat('0', 64) WHERE job_id = {ONE}",
    "with 0 open problems": f"UPDATE jobs SET state = 'failed' WHERE id = {ONE}",
}


@pytest.fixture
async def accepted(site: Site, engine: Engine) -> list[UUID]:
    """A flawless run, by a worker in this process."""
    worker = build_worker(engine, load_settings(**site.names))
    running = asyncio.create_task(worker.run())
    job_ids = await enqueue(engine, *mixed_requests(0, JOBS))
    await all_ended(engine)
    worker.stop()
    await running
    report = await Auditor(engine, site.storage_dir, job_ids).report()
    assert report.states == {"succeeded": JOBS}
    return job_ids


@pytest.mark.parametrize("finding", PLANTS)
async def test_a_planted_row_is_found(finding: str, site: Site, engine: Engine, accepted: list[UUID]) -> None:
    async with engine.database.acquire() as connection:
        assert await connection.execute(PLANTS[finding]) not in {"UPDATE 0", "DELETE 0", "INSERT 0 0"}
    with pytest.raises(AssertionError, match=finding):
        await Auditor(engine, site.storage_dir, accepted).report()


async def test_bytes_that_are_missing_changed_or_nobodys_are_found(
    site: Site, engine: Engine, accepted: list[UUID]
) -> None:
    missing, changed, *_ = await stored_keys(engine)
    await engine.storage.delete(missing)
    await engine.storage.put_bytes(changed, b"something else")
    await engine.storage.put_bytes("artifacts/nobody/1.txt", b"stray")
    with pytest.raises(AssertionError) as caught:
        await Auditor(engine, site.storage_dir, accepted).report()
    findings = str(caught.value)
    assert f"{missing}: no bytes" in findings
    assert f"{changed}: the bytes are not what was promised" in findings
    assert "artifacts/nobody/1.txt: stray bytes" in findings


async def test_a_job_that_nobody_sent_is_found(site: Site, engine: Engine, accepted: list[UUID]) -> None:
    with pytest.raises(AssertionError, match="never acknowledged, yet there"):
        await Auditor(engine, site.storage_dir, accepted[1:]).report()

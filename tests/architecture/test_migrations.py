"""Every version of the schema that ever existed comes to the newest one with all its data."""

from __future__ import annotations

import asyncpg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from quire.entrypoints.migrate import head_revision, migrate
from quire.entrypoints.shipped import shipped_dir
from quire.jobs.domain.state import JobState

JOBS_SINCE = "0002"
SEED_TENANT = "INSERT INTO tenants (id, name) VALUES ('acme', 'Acme')"
SEED_JOB = """
INSERT INTO jobs (id, state, queue, kind, tenant_id, created_by, priority, payload, leased_by, lease_expires_at,
                  job_key)
VALUES (gen_random_uuid(), $1, 'default', 'jobs.noop', 'acme', 'ann', 0, '{"kept": true}',
        CASE WHEN $1 = 'running' THEN gen_random_uuid() END, CASE WHEN $1 = 'running' THEN now() END,
        decode(md5($1), 'hex'))
"""
SEED_EVENT = """
INSERT INTO job_events (job_id, from_state, to_state, attempt, fence, actor)
SELECT id, NULL, 'queued', 0, 0, 'ann' FROM jobs
"""
SEED_PROBLEM = """
INSERT INTO problems (id, job_id, tenant_id, task_type, queue, error_code, message, attempts, recommendation)
SELECT gen_random_uuid(), id, tenant_id, kind, queue, 'X', 'x', 1, 'retry' FROM jobs WHERE state = 'failed'
"""


def revisions() -> list[str]:
    config = Config()
    config.set_main_option("script_location", str(shipped_dir("migrations")))
    return [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()][::-1]


@pytest.mark.parametrize("start", revisions())
async def test_every_earlier_version_with_data_reaches_the_newest_one(empty_dsn: str, start: str) -> None:
    assert await migrate(empty_dsn, start) == start
    await _seed(empty_dsn, with_jobs=start >= JOBS_SINCE)
    before = await _contents(empty_dsn, with_jobs=start >= JOBS_SINCE)
    assert await migrate(empty_dsn) == head_revision()
    assert await _contents(empty_dsn, with_jobs=start >= JOBS_SINCE) == before


async def test_the_steps_one_by_one_make_the_same_schema_as_all_at_once(empty_dsn: str, dsn: str) -> None:
    for revision in revisions():
        await migrate(empty_dsn, revision)
    assert await _schema(empty_dsn) == await _schema(dsn)


async def test_every_state_of_the_domain_fits_the_table_and_no_other_does(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for state in JobState:
            await connection.execute(SEED_JOB, state)
        with pytest.raises(asyncpg.CheckViolationError, match="jobs_state_known"):
            await connection.execute(SEED_JOB, "processing")
    finally:
        await connection.close()


async def _seed(dsn: str, *, with_jobs: bool) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(SEED_TENANT)
        if with_jobs:
            for state in JobState:
                await connection.execute(SEED_JOB, state)
            await connection.execute(SEED_EVENT)
            await connection.execute(SEED_PROBLEM)
    finally:
        await connection.close()


async def _contents(dsn: str, *, with_jobs: bool) -> list[list[tuple[object, ...]]]:
    """The columns that the oldest version had, by name: later ones may add to them."""
    looks = ["SELECT id, name FROM tenants ORDER BY id"]
    if with_jobs:
        looks += [
            "SELECT id, state, payload, job_key, lease_expires_at FROM jobs ORDER BY id",
            "SELECT event_no, job_id, to_state FROM job_events ORDER BY event_no",
            "SELECT id, job_id, error_code FROM problems ORDER BY id",
        ]
    connection = await asyncpg.connect(dsn)
    try:
        return [[tuple(row) for row in await connection.fetch(look)] for look in looks]
    finally:
        await connection.close()


async def _schema(dsn: str) -> list[tuple[object, ...]]:
    columns = (
        "SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns"
        " WHERE table_schema = 'public' ORDER BY 1, 2"
    )
    indexes = "SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2"
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row) for look in (columns, indexes) for row in await connection.fetch(look)]
    finally:
        await connection.close()

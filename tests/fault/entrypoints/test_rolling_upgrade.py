"""A newer version takes over from an older one while clients send: schema first, then workers one by one, then the
API. Every job ends once, whichever of them accepted it and whichever did it.

No schema step is crossed yet: the older version's head is 0004, as is this one's, and trees with an older head have
another 0002. The newer migrations run while the older API and workers serve, so the first step after 0004 is crossed
here without a change."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.auditor import Auditor, all_ended
from tests.support.load import Enqueuer, enqueue, http_door, mixed_requests
from tests.support.older_release import VERSION, OlderRelease, older_release
from tests.support.processes import WorkerYard, holds
from tests.support.site import Site

import quire
from quire.entrypoints.engine import Engine
from quire.entrypoints.migrate import head_revision, migrate
from quire.runtime.auth import TenantStore, TokenGrant, TokenStore
from quire.runtime.database import Database

API = ("-m", "quire", "api", "--port", "0")
LATE = 1_000_000
# Nobody dies here, so no lease may run out, however busy the machine is.
NAMES = {"WORKER_CONCURRENCY": "8", "WORKER_LEASE_TTL_SEC": "30"}


@pytest.fixture
def older(tmp_path: Path) -> OlderRelease:
    return older_release(tmp_path / "older")


@pytest.fixture
def site(empty_dsn: str, tmp_path: Path) -> Site:
    return Site(empty_dsn, tmp_path / "site", environment=NAMES)


def migrate_with(older: OlderRelease, site: Site) -> str:
    """By the older version's own command."""
    done = subprocess.run(
        [sys.executable, "-m", "quire", "migrate"],
        env=site.process_environment(older.names),
        cwd=site.root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1]


async def token_of(dsn: str) -> str:
    database = await Database.open(dsn, application="test")
    try:
        await TenantStore(database).create("acme", "acme")
        grant = TokenGrant("acme", "ann", "test", "admin", frozenset(), None)
        _, parts = await TokenStore(database).create(grant, created_by="test")
        return parts.text
    finally:
        await database.close()


async def done_by_version(engine: Engine) -> dict[str, int]:
    async with engine.database.acquire() as connection:
        rows = await connection.fetch(
            "SELECT w.version, count(*) AS jobs FROM job_events e JOIN workers w ON w.id::text = e.actor "
            "WHERE e.to_state = 'succeeded' GROUP BY w.version"
        )
    return {row["version"]: row["jobs"] for row in rows}


async def test_every_job_ends_once_while_newer_processes_take_over_from_older_ones(
    site: Site, older: OlderRelease, yard: WorkerYard
) -> None:
    before = migrate_with(older, site)
    token = await token_of(site.dsn)
    old = [yard.start(**older.names) for _ in range(2)]
    (said, *_) = await yard.start(API, **older.names).said("api_listening", within_seconds=60)
    with Enqueuer(http_door(str(said["url"]), token), batch=10, pause_seconds=0.1) as client:
        await client.reaches(50)
        after = await migrate(site.dsn)
        assert after == head_revision() >= before
        async with site.engine() as engine:
            for leaving in old:
                await holds(engine, await yard.start().started(), 1)
                leaving.send(signal.SIGTERM)
                assert await leaving.ended() == 0
                await client.reaches(len(client.accepted) + 50)
    async with site.engine() as engine:
        # The newer code accepts, too.
        accepted = client.accepted + await enqueue(engine, *mixed_requests(LATE, 20))
        await all_ended(engine)
        report = await Auditor(engine, site.storage_dir, accepted).report()
        done = await done_by_version(engine)
    print(f"{len(accepted)} jobs, done by {done}, schema {before} to {after}, history: {older.from_history}")
    assert report.states == {"succeeded": len(accepted)}, report.errors
    assert report.reclaims == 0
    assert set(done) == {VERSION, quire.__version__}
    assert sum(done.values()) == len(accepted)

"""`quire up` under load: any one of its processes is killed, and every job still ends once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.auditor import Auditor, all_ended
from tests.support.load import Enqueuer, http_door
from tests.support.quire_up import QuireUp
from tests.support.site import Site
from tests.support.waiting import eventually

VICTIMS = ("worker", "api", "postgres")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "site"


@pytest.fixture
def supervised(home: Path) -> Iterator[QuireUp]:
    names = {
        "QUIRE_DIAGNOSTIC_KINDS": "true",
        "WORKER_LEASE_TTL_SEC": "2",
        "WORKER_RECLAIM_SEC": "0.3",
        "WORKER_CONCURRENCY": "8",
    }
    quire = QuireUp(home, environment=names)
    try:
        yield quire.wait_ready()
    finally:
        quire.interrupt()


async def test_every_job_ends_once_while_each_process_of_quire_up_is_killed_in_turn(
    supervised: QuireUp, home: Path
) -> None:
    # The same database, storage and policies as the processes under the supervisor.
    storage = home / "artifacts"
    names = {"QUIRE_STORAGE_URL": f"file:{storage}"}
    site = Site((home / "postgres.dsn").read_text().strip(), home, max_crashes=100, environment=names)
    with Enqueuer(http_door(supervised.url, supervised.token), batch=10, pause_seconds=0.1) as client:
        await client.reaches(50)
        for program in VICTIMS:
            victim = supervised.children()[program]
            os.kill(victim, signal.SIGKILL)
            await replaced(supervised, program, victim)
            await client.reaches(len(client.accepted) + 50)
    async with site.engine() as engine:
        await all_ended(engine)
        report = await Auditor(engine, storage, client.accepted).report()
    assert report.states == {"succeeded": len(client.accepted)}, report.errors
    assert supervised.process.poll() is None


async def replaced(supervised: QuireUp, program: str, victim: int) -> None:
    async def probe() -> bool:
        return supervised.children().get(program, victim) != victim and supervised.is_ready()

    await eventually(probe, f"a new {program}", within_seconds=60)

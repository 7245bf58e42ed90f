"""Conversions by the bundled gateway while everything is killed that has a part in them: the process that reads a
document, the server it was forked from, the gateway, the worker."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.auditor import Auditor, all_ended
from tests.support.conversions import hand_in, shorten
from tests.support.processes import WorkerProcess, WorkerYard, descendants, holds
from tests.support.site import Site
from tests.support.waiting import eventually
from tests.unit.convert.samples import mapped, sample

from quire.entrypoints.engine import Engine
from quire.runtime.free_port import free_port

FILES = 16
ROUNDS = 2
# Each takes long enough to be killed in the middle of.
WORK = (("fhs", "alto"), ("fhs", "tei"), ("zoo-read", "akn"))


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def site(dsn: str, tmp_path: Path, port: int) -> Site:
    environment = {
        "GATEWAY_URL": f"http://127.0.0.1:{port}",
        "UPLOADS_DIR": str(tmp_path / "uploads"),
        "RESULTS_DIR": str(tmp_path / "results"),
        "WORKER_QUEUES": "convert_*",
        "WORKER_CONCURRENCY": "4",
        # So many kills hit some files more often than the shipped rules forgive.
        "RETRY_MAX_ATTEMPTS": "100",
    }
    site = Site(dsn, tmp_path / "site", max_crashes=100, environment=environment)
    shorten(site.config_dir)
    return site


class Victims:
    """The processes of a conversion, each with a way to end it; what nobody looks after is started again."""

    def __init__(self, yard: WorkerYard, port: int) -> None:
        self._yard = yard
        self._port = port
        self.worker = yard.start()
        self.gateway = self._new_gateway()

    @property
    def all(self) -> tuple[Callable[[], None], ...]:
        return self.kill_reader, self.kill_server, self.kill_gateway, self.kill_worker

    def _new_gateway(self) -> WorkerProcess:
        return self._yard.start(("-m", "quire", "gateway", "--port", str(self._port)))

    async def readers_now(self) -> list[int]:
        return self._readers()

    def _readers(self) -> list[int]:
        return [reader for server in self._servers() for reader in children(server)]

    def _servers(self) -> list[int]:
        return children(self.gateway.pid)

    def kill_reader(self) -> None:
        end(self._readers())

    def kill_server(self) -> None:
        end(self._servers())

    def kill_gateway(self) -> None:
        self.gateway.kill()
        self.gateway = self._new_gateway()

    def kill_worker(self) -> None:
        self.worker.kill()
        self.worker = self._yard.start()


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def end(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def test_killed_readers_gateways_and_workers_lose_and_double_no_conversion(
    site: Site, engine: Engine, yard: WorkerYard, port: int, tmp_path: Path
) -> None:
    victims = Victims(yard, port)
    files = [(WORK[number % len(WORK)], number) for number in range(FILES)]
    accepted = {
        await hand_in(site, engine, sample(name) + b"\n%% %d\n" % number, mapping): (name, mapping)
        for (name, mapping), number in files
    }
    await victims.gateway.said("gateway_listening", within_seconds=60)

    for kill in victims.all * ROUNDS:
        await holds(engine, await victims.worker.started(), 1)
        await eventually(victims.readers_now, "a document that is being read", within_seconds=60)
        # A random moment of its work.
        await asyncio.sleep(random.uniform(0, 0.1))
        kill()
    await all_ended(engine, within_seconds=180)

    report = await Auditor(engine, site.storage_dir, accepted).report()
    assert report.states == {"succeeded": FILES}, report.errors
    assert report.reclaims >= ROUNDS
    expected = {work: mapped(work[1], sample(work[0])) for work in WORK}
    for job_id, work in accepted.items():
        assert (tmp_path / "results" / f"{job_id}.xml").read_bytes() == expected[work], work
    assert len(list((tmp_path / "results").iterdir())) == FILES
    await eventually(lambda: nobody_below(victims.gateway.pid), "the end of every reader")


async def nobody_below(gateway: int) -> bool:
    """But the one that waits for the next document."""
    return len(descendants(gateway)) <= 1

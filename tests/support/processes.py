"""Real worker processes: started, killed, frozen, woken and read by tests. Every one is dead at the end."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import UUID

from tests.support.site import Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine

REPOSITORY = Path(__file__).parents[2]
PLAIN = ("-m", "quire", "worker")
ODD = ("-m", "tests.support.odd_worker")
START_SECONDS = 60.0


class WorkerProcess:
    def __init__(self, site: Site, arguments: tuple[str, ...], extra: Mapping[str, str], log: Path) -> None:
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, *arguments],
                env={"PYTHONPATH": _python_path(), **site.process_environment(extra)},
                # Not the developer's .env file.
                cwd=site.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def events(self, name: str) -> list[dict[str, object]]:
        """Its log lines of one event; a line that is still being written does not count yet."""
        found = []
        for line in self.output.splitlines():
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict) and entry.get("event") == name:
                    found.append(entry)
        return found

    async def started(self) -> UUID:
        """Its worker id, once it claims."""
        (entry, *_) = await self.said("worker_started", within_seconds=START_SECONDS)
        return UUID(str(entry["worker_id"]))

    async def said(
        self, name: str, *, times: int = 1, within_seconds: float = 30.0
    ) -> list[dict[str, object]]:
        async def probe() -> list[dict[str, object]]:
            found = self.events(name)
            assert len(found) >= times or self.exit_code is None, f"it ended first: {self.output[-3000:]}"
            return found if len(found) >= times else []

        return await eventually(probe, f"{times} x {name}", within_seconds=within_seconds)

    async def ended(self, *, within_seconds: float = 30.0) -> int:
        async def probe() -> bool:
            return self.exit_code is not None

        await eventually(probe, "the worker's exit", within_seconds=within_seconds)
        assert self.exit_code is not None
        return self.exit_code

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, which also ends a frozen process."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def limit_file_size(self, size_bytes: int) -> None:
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size_bytes, resource.RLIM_INFINITY))


def _python_path() -> str:
    """The tests' own modules, beside whatever this run was given."""
    return os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))


class WorkerYard:
    """Starts workers on a site and ends those that a test left running."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._workers: list[WorkerProcess] = []

    def start(self, arguments: tuple[str, ...] = PLAIN, **extra: object) -> WorkerProcess:
        log = self._site.root / f"worker-{len(self._workers) + 1}.log"
        names = {name: str(value) for name, value in extra.items()}
        worker = WorkerProcess(self._site, arguments, names, log)
        self._workers.append(worker)
        return worker

    def end_all(self) -> None:
        for worker in self._workers:
            worker.kill()


@contextlib.contextmanager
def worker_yard(site: Site) -> Iterator[WorkerYard]:
    yard = WorkerYard(site)
    try:
        yield yard
    finally:
        yard.end_all()


async def running_under(engine: Engine, worker_id: UUID) -> list[UUID]:
    async with engine.database.acquire() as connection:
        rows = await connection.fetch(
            "SELECT id FROM jobs WHERE state = 'running' AND leased_by = $1", worker_id
        )
    return [row["id"] for row in rows]


async def holds(engine: Engine, worker_id: UUID, count: int) -> list[UUID]:
    """Waits until the worker runs at least so many jobs."""

    async def probe() -> list[UUID]:
        jobs = await running_under(engine, worker_id)
        return jobs if len(jobs) >= count else []

    return await eventually(probe, f"{count} running jobs of a worker")


def process_group(group: int) -> list[int]:
    """The living members of a process group; a zombie is dead."""
    return [pid for pid, fields in _processes() if int(fields[2]) == group and fields[0] != "Z"]


def descendants(pid: int) -> list[int]:
    parents = {child: int(fields[1]) for child, fields in _processes()}
    found: list[int] = []
    frontier = {pid}
    while frontier := {child for child, parent in parents.items() if parent in frontier}:
        found += frontier
    return found


def _processes() -> Iterator[tuple[int, list[str]]]:
    """Pid and the fields after the command's name: state, parent, group, ..."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                yield int(entry.name), (entry / "stat").read_text().rpartition(")")[2].split()


def kill_tree(pid: int) -> None:
    """SIGKILL to a process and all below it, the root first so that it restarts no child. It is stopped while we look,
    for a child that it starts meanwhile would be nobody's."""
    os.kill(pid, signal.SIGSTOP)
    for victim in (pid, *descendants(pid)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)

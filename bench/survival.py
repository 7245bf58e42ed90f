"""What still gets done while workers die: `python -m bench.survival [--quick]`.

1,000 jobs, a quarter of them documents, and two worker processes. Each is killed with SIGKILL when it has worked for
two seconds, and another one takes its place; how long a start takes on a busy machine plays no part in that. After 45
seconds the ended jobs are counted, and those that were given up although no job here does any harm. The same without
documents.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.convert_overhead import silence
from bench.process_tree import descendants
from bench.render_documents import Invoices
from bench.report import Row, publish
from bench.servers import end_on_sigterm, postgres, scratch
from quire.entrypoints.engine import Engine, open_engine
from quire.entrypoints.migrate import migrate
from quire.entrypoints.render import fleet_fingerprint, open_templates
from quire.jobs import JobRequest, enqueue_jobs
from quire.render import KIND as RENDER_KIND
from quire.render import RenderJob
from quire.runtime.settings import Settings, load_settings

WHO = "bench"
WORKERS = 2
LIVE = "SELECT pid FROM workers JOIN worker_presence ON id = worker_id"
ENDED = """
SELECT coalesce(error_code, state) AS how, count(*) AS jobs FROM jobs
WHERE state NOT IN ('waiting', 'queued', 'running') GROUP BY 1
"""


@dataclass(frozen=True)
class Run:
    jobs: int = 1_000
    documents: int = 250
    seconds: float = 45.0
    kill_seconds: float = 2.0

    @property
    def measure(self) -> str:
        share = f"{self.documents} of them documents" if self.documents else "no documents"
        return f"jobs done in {self.seconds:g} s, {share}, each worker killed after {self.kill_seconds:g} s"


FULL = (Run(), Run(documents=0, seconds=40.0))
QUICK = (Run(jobs=200, documents=20, seconds=15.0),)


class Workers:
    """Worker processes that are started again as soon as they are killed."""

    def __init__(self, names: dict[str, str], directory: Path) -> None:
        self._names = names
        self._directory = directory
        self._processes = [self._start() for _ in range(WORKERS)]
        self._due_at: dict[int, float] = {}
        self.kills = 0

    @property
    def pids(self) -> set[int]:
        return {process.pid for process in self._processes}

    def _start(self) -> subprocess.Popen[bytes]:
        with (self._directory / "workers.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "quire", "worker"],
                env={**os.environ, **self._names},
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill_the_due(self, live: set[int], after_seconds: float) -> None:
        now = time.monotonic()
        for place, process in enumerate(self._processes):
            if process.pid in live and self._due_at.setdefault(process.pid, now + after_seconds) <= now:
                process.kill()
                process.wait()
                self._processes[place] = self._start()
                self.kills += 1

    def end(self) -> None:
        for process in self._processes:
            for pid in (process.pid, *descendants(process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def workers_at(names: dict[str, str], directory: Path) -> Iterator[Workers]:
    workers = Workers(names, directory)
    try:
        yield workers
    finally:
        workers.end()


def measured(run: Run) -> Row:
    with scratch("survival") as directory, postgres() as server:
        dsn = f"{server}quire"
        names = {
            "DATABASE_URL": dsn,
            "QUIRE_STORAGE_URL": f"file:{directory / 'storage'}",
            "QUIRE_SECRET_KEY": "of one bench run",
            "WORKER_LEASE_TTL_SEC": "2",
            "WORKER_RECLAIM_SEC": "0.3",
            "WORKER_POLL_SEC": "0.3",
        }
        asyncio.run(migrate(dsn))
        ended, kills = asyncio.run(_survived(run, names, directory))
    succeeded = ended.pop("succeeded", 0)
    others = ", ".join(f"{count} {how}" for how, count in sorted(ended.items())) or "none failed"
    note = f"{kills} kills, {others}, load {os.getloadavg()[0]:.1f}"
    return Row(run.measure, succeeded, "accepted", run.jobs, note=note)


async def _survived(run: Run, names: dict[str, str], directory: Path) -> tuple[Counter[str], int]:
    settings = load_settings(**names)
    async with open_engine(settings, application="bench") as engine:
        with workers_at(names, directory) as workers:
            while not workers.pids <= await _live(engine):
                await asyncio.sleep(0.1)
            await enqueue_jobs(engine.intake, _requests(run, settings), tenant_id=WHO, created_by=WHO)
            began_at = time.monotonic()
            while time.monotonic() < began_at + run.seconds:
                workers.kill_the_due(await _live(engine), run.kill_seconds)
                await asyncio.sleep(0.05)
            counted = await _ended(engine), workers.kills
        _end_strays(await _live(engine), names["DATABASE_URL"])
        return counted


def _end_strays(pids: set[int], dsn: str) -> None:
    """What killed workers started for suspects goes on for its grace, and the database does not."""
    for pid in pids:
        with contextlib.suppress(OSError):
            if f"DATABASE_URL={dsn}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                os.kill(pid, signal.SIGKILL)


async def _live(engine: Engine) -> set[int]:
    """Who has begun to claim, by process id."""
    async with engine.database.acquire() as connection:
        return {row["pid"] for row in await connection.fetch(LIVE)}


async def _ended(engine: Engine) -> Counter[str]:
    async with engine.database.acquire() as connection:
        return Counter({row["how"]: row["jobs"] for row in await connection.fetch(ENDED)})


def _requests(run: Run, settings: Settings) -> list[JobRequest]:
    """Documents evenly among the others, which leave an artifact, sleep for a moment, or do nothing."""
    every = run.jobs // run.documents if run.documents else 0
    pack, fingerprint = open_templates(settings).pack("invoice"), fleet_fingerprint(settings)
    invoices = Invoices()
    requests = []
    for number in range(run.jobs):
        if every and number % every == 0:
            data = invoices.next_payload()["payload"]
            assert isinstance(data, dict)
            job = RenderJob(pack.name, pack.version, pack.content_hash, fingerprint, data)
            requests.append(JobRequest(RENDER_KIND, job.to_payload()))
        elif number % 2:
            requests.append(JobRequest("jobs.sleep", {"number": number, "seconds": 0.05}))
        else:
            requests.append(
                JobRequest("jobs.store", {"text": f"text {number}", "seconds": (number % 7) / 50})
            )
    return requests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 jobs and 15 seconds, documents among them")
    parser.add_argument("--documents", type=int, help="instead of the run's own number of them")
    arguments = parser.parse_args()
    end_on_sigterm()
    silence()
    runs: Sequence[Run] = QUICK if arguments.quick else FULL
    if arguments.documents is not None:
        runs = [replace(runs[0], documents=arguments.documents)]
    publish("survival", [measured(run) for run in runs])


if __name__ == "__main__":
    main()

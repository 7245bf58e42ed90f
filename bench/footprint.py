"""What an installation takes, for sizing: memory and connections of each process, CPU and WAL of a job.

    python -m bench.footprint

Starts a `quire up` of its own in a temporary directory, works it over HTTP and prints a table. CPU is counted by the
kernel, so a busy machine makes it slower but not much wrong; rates are what this machine had to spare.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx

from bench.process_tree import descendants, proportional_bytes

JOBS, BATCH = 20_000, 1_000
DOCUMENTS = 60
READY_SECONDS = 180.0
MIB = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")
PARTS = ("api", "worker-1", "postgres")


@dataclass(frozen=True)
class Meter:
    """Readings at one moment."""

    cpu_seconds: dict[str, float]
    wal_bytes: int
    at: float


class Installation:
    def __init__(self, home: Path, process: subprocess.Popen[bytes]) -> None:
        self._home = home
        self._process = process
        self.ready = json.loads((home / "ready.json").read_text())
        self.dsn = (home / "postgres.dsn").read_text().strip()

    def roots(self) -> dict[str, int]:
        """The programs right under `quire up`, told apart by their command lines."""
        found = {}
        for pid in descendants(self._process.pid):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"api" in line:
                found["api"] = pid
            elif b"worker" in line:
                found["worker-1"] = pid
            elif line[0].endswith(b"/postgres") and b"-D" in line:
                found["postgres"] = pid
        return found

    async def read(self) -> Meter:
        cpu = {name: tree_cpu_seconds(pid) for name, pid in self.roots().items()}
        return Meter(
            cpu, int(await self.ask("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")), time.monotonic()
        )

    async def ask(self, sql: str) -> int:
        connection = await asyncpg.connect(self.dsn)
        try:
            return int(await connection.fetchval(sql))
        finally:
            await connection.close()


def tree_cpu_seconds(root: int) -> float:
    """Of a process, its living descendants, and the dead ones it waited for."""
    total = 0
    for pid in (root, *descendants(root)):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
    return total / TICKS


@contextlib.contextmanager
def installation() -> Iterator[Installation]:
    with tempfile.TemporaryDirectory(prefix="quire-footprint-") as directory:
        home = Path(directory)
        home.chmod(0o755)
        options = [
            "--data-dir",
            directory,
            "--port",
            "0",
            "--workers",
            "1",
            "--ready-file",
            f"{directory}/ready.json",
        ]
        process = subprocess.Popen(
            [sys.executable, "-m", "quire", "up", *options],
            env={**os.environ, "QUIRE_RATE_LIMIT_PER_MINUTE": "0", "QUIRE_DIAGNOSTIC_KINDS": "true"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(home / "ready.json", process)
            yield Installation(home, process)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(90)


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("quire up did not become ready")
        time.sleep(0.1)


async def send_jobs(http: httpx.AsyncClient) -> None:
    for start in range(0, JOBS, BATCH):
        jobs = [{"kind": "jobs.noop", "payload": {"n": n}} for n in range(start, start + BATCH)]
        (await http.post("/jobs/batch", json={"jobs": jobs})).raise_for_status()


async def send_documents(http: httpx.AsyncClient) -> None:
    sample = (await http.get("/pdf/templates/invoice")).json()["sample"]
    for number in range(DOCUMENTS):
        payload = {**sample, "number": f"F-{number}"}
        answer = await http.post("/pdf/jobs", json={"template_name": "invoice", "payload": payload})
        answer.raise_for_status()


async def until_ended(place: Installation) -> None:
    while await place.ask("SELECT count(*) FROM jobs WHERE state IN ('queued', 'running', 'waiting')"):
        await asyncio.sleep(0.2)


def show_cost(what: str, count: int, before: Meter, after: Meter) -> None:
    spent = {name: (after.cpu_seconds[name] - before.cpu_seconds[name]) * 1000 / count for name in PARTS}
    told = ", ".join(f"{name} {value:.3f} ms" for name, value in spent.items())
    wal = (after.wal_bytes - before.wal_bytes) / count
    rate = count / (after.at - before.at)
    print(
        f"{what}: CPU {told}, together {sum(spent.values()):.3f} ms; WAL {wal:,.0f} bytes; {rate:,.0f}/s here"
    )


async def show_size(when: str, place: Installation) -> None:
    for name, root in place.roots().items():
        pids = (root, *descendants(root))
        size, own = sum(map(proportional_bytes, pids)) / MIB, proportional_bytes(root) / MIB
        print(f"{when}: {name} {size:,.0f} MiB in {len(pids)} processes, itself {own:,.0f}")
    for application in ("quire-api", "quire-worker", "quire-heartbeat", "quire-listen"):
        sql = f"SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '{application}%'"
        print(f"{when}: connections {application} {await place.ask(sql)}")


async def measure(place: Installation) -> None:
    headers = {"Authorization": f"Bearer {place.ready['token']}"}
    async with httpx.AsyncClient(base_url=place.ready["url"], headers=headers, timeout=120) as http:
        await show_size("idle", place)
        for what, count, send in (
            ("a no-op job", JOBS, send_jobs),
            ("an invoice", DOCUMENTS, send_documents),
        ):
            before = await place.read()
            await send(http)
            await until_ended(place)
            show_cost(what, count, before, await place.read())
            await show_size(f"after {count} of {what}", place)


if __name__ == "__main__":
    with installation() as running:
        asyncio.run(measure(running))

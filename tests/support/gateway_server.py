"""A real gateway as a process of its own, on a port of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

MEMORY_BYTES = 256 * 1024 * 1024
WALL_SECONDS = 45
# So little that what is too much comes soon.
LIMITS = {
    "QUIRE_GATEWAY_MEMORY_BYTES": str(MEMORY_BYTES),
    "QUIRE_GATEWAY_CPU_SEC": "3",
    "QUIRE_GATEWAY_WALL_SEC": str(WALL_SECONDS),
    "QUIRE_GATEWAY_MAX_BYTES": "8388608",
}
START_SECONDS = 90.0
STOP_SECONDS = 30.0


class GatewayServer:
    def __init__(self, process: subprocess.Popen[bytes], url: str) -> None:
        self.process = process
        self.url = url
        self.http = httpx.Client(base_url=url, timeout=120, trust_env=False)

    def process_pdf(self, pdf: bytes, mapping: str = "alto", **headers: str) -> httpx.Response:
        file = {"file": ("../../etc/name.pdf", pdf, "application/pdf")}
        return self.http.post("/process", data={"mapping": mapping}, files=file, headers=headers)

    def children(self, pid: int | None = None) -> list[int]:
        pid = pid or self.process.pid
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(child) for child in text.split()]

    def memory_bytes(self) -> int:
        return sum(map(_resident_bytes, [self.process.pid, *self.children()]))

    def reader_peak_bytes(self) -> int:
        """The most that one of the readers at work has had in memory so far; nothing while none is."""
        peaks = [
            status(pid).get("VmHWM", "0 kB") for server in self.children() for pid in self.children(server)
        ]
        return max((1024 * int(peak.split()[0]) for peak in peaks), default=0)


@contextmanager
def running_gateway(directory: Path, *, program: str = "quire", **settings: str) -> Iterator[GatewayServer]:
    ready = directory / "ready"
    with (directory / "gateway.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", program, "gateway", "--port", "0", "--ready-file", str(ready)],
            env={**os.environ, **settings},
            stdout=log,
            stderr=log,
        )
    try:
        wait_until(lambda: ready.exists() or process.poll() is not None)
        server = GatewayServer(process, json.loads(ready.read_text())["url"])
        yield server
        server.http.close()
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def wait_until(holds: Callable[[], object], within_seconds: float = START_SECONDS) -> None:
    deadline = time.monotonic() + within_seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {within_seconds:g} s"
        time.sleep(0.02)


def status(pid: int) -> dict[str, str]:
    """What the kernel tells of a process; nothing of one that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

"""`quire up` for one bench: API, one worker, embedded Postgres with its syncing settings, on a real disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.process_tree import descendants, proportional_bytes
from bench.render_client import Place

READY_SECONDS = 120.0
STOP_SECONDS = 60.0


class QuireUp:
    def __init__(self, process: subprocess.Popen[bytes], place: Place) -> None:
        self._process = process
        self.place = place

    def worker_bytes(self) -> int:
        """What the worker, its template process, its driver and its browser hold; shared pages by share."""
        worker = self._worker()
        return sum(map(proportional_bytes, [worker, *descendants(worker)]))

    def _worker(self) -> int:
        for pid in descendants(self._process.pid):
            if Path(f"/proc/{pid}/cmdline").read_bytes().endswith(b"quire\0worker\0"):
                return pid
        raise RuntimeError("quire up has no worker")


@contextmanager
def quire_up(directory: Path, concurrency: int) -> Iterator[QuireUp]:
    process = _start(directory, concurrency)
    try:
        yield QuireUp(process, _ready(process, directory))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)


def _start(directory: Path, concurrency: int) -> subprocess.Popen[bytes]:
    options = ["--data-dir", str(directory / "data"), "--port", "0", "--ready-file", str(directory / "ready")]
    ours = {
        # While one document is filled or stored, another one prints.
        "WORKER_CONCURRENCY": str(2 * concurrency),
        "QUIRE_RENDER_PAGES": str(concurrency),
        # One token asks for everything here; the limit protects a server from exactly that.
        "QUIRE_RATE_LIMIT_PER_MINUTE": "0",
    }
    with (directory / "output").open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "quire", "up", *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={name: value for name, value in os.environ.items() if not _is_setting(name)} | ours,
            cwd=directory,
            start_new_session=True,
        )


def _is_setting(name: str) -> bool:
    return name == "DATABASE_URL" or name.startswith(("QUIRE_", "WORKER_", "PDF_"))


def _ready(process: subprocess.Popen[bytes], directory: Path) -> Place:
    deadline = time.monotonic() + READY_SECONDS
    while not (directory / "ready").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"quire up did not start:\n{(directory / 'output').read_text()[-2000:]}")
        time.sleep(0.05)
    ready = json.loads((directory / "ready").read_text())
    return Place(ready["url"], ready["token"])

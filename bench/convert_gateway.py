"""A gateway of its own for one bench run, and one call of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

START_SECONDS = 60.0


@contextmanager
def running_gateway(directory: Path) -> Iterator[str]:
    ready = directory / "gateway-ready"
    process = subprocess.Popen(
        [sys.executable, "-m", "quire", "gateway", "--port", "0", "--ready-file", str(ready)],
        env={**os.environ, "QUIRE_LOG_LEVEL": "warning", "QUIRE_GATEWAY_SLOTS": str(os.cpu_count() or 1)},
        cwd=directory,
    )
    try:
        yield _url(ready, process)
    finally:
        process.terminate()
        process.wait(60)


def _url(ready: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + START_SECONDS
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the gateway does not start")
        time.sleep(0.05)
    return str(json.loads(ready.read_text())["url"])


@contextmanager
def caller(url: str) -> Iterator[httpx.Client]:
    """Made once: what a client loads to be ready for TLS takes longer than a small conversion."""
    with httpx.Client(base_url=url, timeout=300, trust_env=False) as client:
        yield client


def seconds_for(client: httpx.Client, pdf: bytes, mapping: str) -> float:
    """From the first byte sent to the last byte of checked XML received."""
    began = time.perf_counter()
    file = ("document.pdf", pdf, "application/pdf")
    client.post("/process", data={"mapping": mapping}, files={"file": file}).raise_for_status()
    return time.perf_counter() - began

"""The obliging gateway as a process of its own, which may be ended and started again at the same address."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from quire.runtime.free_port import free_port

PROGRAM = Path(__file__).with_name("gateway_program.py")


class GatewayProcess:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        self._process = subprocess.Popen([sys.executable, PROGRAM, str(self.port)], stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def calls(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/calls", trust_env=False).json()
        return found

    def say_health(self, status: int) -> None:
        httpx.put(f"{self.url}/health", content=str(status), trust_env=False).raise_for_status()


@contextlib.contextmanager
def gateway_process() -> Iterator[GatewayProcess]:
    gateway = GatewayProcess()
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


def pdf_that(number: int, **wish: Any) -> bytes:
    """A file of its own that has the gateway answer as wished."""
    return f"%PDF-1.7\n%behave {json.dumps(wish)}\n%{number}\n%%EOF\n".encode()

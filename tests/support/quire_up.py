"""Runs the real `quire up` in a process of its own, the way a person or a service manager would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx

START_SECONDS = 120.0


class QuireUp:
    def __init__(
        self,
        data_dir: Path,
        *options: str,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.ready_path = data_dir.with_name(f"{data_dir.name}.ready")
        self.output_path = data_dir.with_name(f"{data_dir.name}.output")
        paths = ["--data-dir", str(data_dir), "--port", "0", "--ready-file", str(self.ready_path)]
        with self.output_path.open("a") as output:
            self.process = subprocess.Popen(
                # The installed command, which imports nothing from the directory it runs in.
                [str(Path(sys.executable).with_name("quire")), "up", *paths, *options],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**clean_environment(), **(environment or {})},
                # Not the developer's .env file.
                cwd=directory or data_dir.parent,
            )
        self.url = ""
        self.token = ""

    def wait_started(self) -> None:
        """Ready, or failed: a child that ended is reported at once."""
        wait_until(lambda: self.ready_path.exists() or self._failed(), START_SECONDS)

    def _failed(self) -> bool:
        return self.process.poll() is not None or "exit code" in self.output

    def wait_ready(self) -> QuireUp:
        wait_until(lambda: self.ready_path.exists() or self.process.poll() is not None, START_SECONDS)
        assert self.process.poll() is None, self.output
        ready = json.loads(self.ready_path.read_text())
        self.url, self.token = ready["url"], ready["token"]
        return self

    @property
    def output(self) -> str:
        return self.output_path.read_text()

    def get(self, path: str, token: str = "") -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.get(self.url + path, headers=headers, timeout=5)

    def is_ready(self) -> bool:
        try:
            return self.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def children(self) -> dict[str, int]:
        """Pid by program: `postgres`, `api`, `worker` (the last one when there are several)."""
        found = {}
        for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            # A child that is just being started or has just died has another command line, or none.
            match _command_line(pid):
                case [program, *_] if program.endswith("/postgres"):
                    found["postgres"] = int(pid)
                case [_, "-P", "-m", "quire", name, *_]:
                    found[name] = int(pid)
        return found

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        # A killed process cannot take its announcement back.
        self.ready_path.unlink(missing_ok=True)


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("QUIRE_", "DATABASE_"))}


def _command_line(pid: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_alive(pid: int) -> bool:
    """A zombie that nobody has reaped yet is dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.05)

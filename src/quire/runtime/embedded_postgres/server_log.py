"""The server's log file: bounded by one rotation at start, and able to tell what the latest run said."""

from __future__ import annotations

import os
from pathlib import Path

LIMIT_BYTES = 10 << 20


class ServerLog:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._run_began_at = 0

    def open(self) -> int:
        """A descriptor for the next run's output; the caller closes it."""
        if self.path.exists() and self.path.stat().st_size > LIMIT_BYTES:
            self.path.replace(self.path.with_suffix(".log.1"))
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._run_began_at = os.fstat(descriptor).st_size
        return descriptor

    def latest_run(self) -> str:
        """The end of what the latest run said, on one line."""
        with self.path.open("rb") as file:
            file.seek(self._run_began_at)
            lines = file.read().decode(errors="replace").strip().splitlines()
        return " | ".join(lines[-4:])

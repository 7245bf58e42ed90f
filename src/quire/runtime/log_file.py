"""The file a child process writes into: private, bounded, able to tell what the latest run said."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LIMIT_BYTES = 20 << 20
_TAIL_BYTES = 8192


class LogFile:
    """One older file is kept beside it as `NAME.1`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._run_began_at = 0

    def open(self) -> int:
        """A descriptor for the next run's output; the caller closes it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._run_began_at = os.fstat(descriptor).st_size
        return descriptor

    def trim(self) -> None:
        """Children append, so emptying the file under them is safe; lines written meanwhile may be lost."""
        if not self.path.exists() or self.path.stat().st_size <= LIMIT_BYTES:
            return
        shutil.copy2(self.path, self.path.with_name(self.path.name + ".1"))
        os.truncate(self.path, 0)
        self._run_began_at = 0

    def latest_lines(self, count: int = 4) -> list[str]:
        """The end of what the latest run said."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self._run_began_at, size - _TAIL_BYTES))
            return file.read().decode(errors="replace").strip().splitlines()[-count:]

"""A stop that PostgreSQL 18 forgets: asked for in the first moments of a recovery from a crash, it waits for ever with
nobody left but its input/output workers and a checkpointer that has nothing to do. Their names tell."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

LOOK_SECONDS = 0.5
# A checkpointer between two tasks looks idle for a moment, too.
LOOKS = 4


def wait_or_find_stuck(postmaster: subprocess.Popen[bytes], timeout_seconds: float) -> bool:
    """Whether it ended by itself. Returns early when it never will."""
    deadline, idle = time.monotonic() + timeout_seconds, 0
    while time.monotonic() < deadline and idle < LOOKS:
        try:
            postmaster.wait(LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            idle = idle + 1 if _is_idle(postmaster.pid) else 0
        else:
            return True
    return False


def _is_idle(postmaster: int) -> bool:
    """A server that still works has other children, or a checkpointer `performing shutdown checkpoint`."""
    try:
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        names = [_name(child) for child in children]
    except OSError:
        return False
    return bool(names) and all(
        name == b"postgres: checkpointer" or name.startswith(b"postgres: io worker") for name in names
    )


def _name(pid: str) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0 ")

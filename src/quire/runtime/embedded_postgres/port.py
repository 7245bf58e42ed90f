"""Which loopback port the server takes: the wanted one, else last time's, else any free one."""

from __future__ import annotations

from pathlib import Path

from quire.runtime.embedded_postgres.account import EmbeddedPostgresError
from quire.runtime.free_port import free_port, is_free


class PortTakenError(EmbeddedPostgresError):
    pass


def choose_port(memory: Path, wanted: int) -> int:
    """Keeps last time's port while it is free, so that DSNs written down elsewhere keep working."""
    for candidate in (wanted, _remembered(memory)):
        if candidate and is_free(candidate):
            return candidate
    if wanted:
        raise PortTakenError(f"port {wanted} is taken; choose another, or 0 for a free one")
    return free_port()


def _remembered(memory: Path) -> int:
    try:
        return int(memory.read_text())
    except (FileNotFoundError, ValueError):
        return 0

"""Which loopback port the server takes: the wanted one, else last time's, else any free one."""

from __future__ import annotations

import socket
from pathlib import Path

from quire.runtime.embedded_postgres.account import EmbeddedPostgresError


def choose_port(memory: Path, wanted: int) -> int:
    """Keeps last time's port while it is free, so that DSNs written down elsewhere keep working."""
    for candidate in (wanted, _remembered(memory)):
        if candidate and _is_free(candidate):
            return candidate
    if wanted:
        raise EmbeddedPostgresError(f"port {wanted} is taken; choose another, or 0 for a free one")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _remembered(memory: Path) -> int:
    try:
        return int(memory.read_text())
    except (FileNotFoundError, ValueError):
        return 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Connections of a server that just ended linger in TIME_WAIT; they do not take the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

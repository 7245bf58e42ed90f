"""A free loopback port that stays free while its server is away for a moment. The kernel gives outgoing connections
ports from a range of its own; a server that listens there may find its port taken when it comes back, even by a client
that tried to reach it (a connection to oneself)."""

from __future__ import annotations

import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
FIRST, LAST = 20_000, 65_000
TRIES = 200
_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(host: str = LOOPBACK) -> int:
    for port in random.sample(_quiet_ports(), TRIES):
        if is_free(port, host):
            return port
    return _any_port(host)


def is_free(port: int, host: str = LOOPBACK) -> bool:
    with socket.socket(_family(host)) as probe:
        # Connections of a server that just ended linger in TIME_WAIT; they do not take the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _quiet_ports() -> list[int]:
    try:
        low, high = map(int, _OUTGOING.read_text().split())
    except (OSError, ValueError):
        low, high = 0, 0
    quiet = [port for port in range(FIRST, LAST) if not low <= port <= high]
    return quiet if len(quiet) > TRIES else list(range(FIRST, LAST))


def _any_port(host: str) -> int:
    with socket.socket(_family(host)) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET

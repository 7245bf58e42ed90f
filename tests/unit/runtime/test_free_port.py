"""Ports for servers that go away and come back."""

from __future__ import annotations

import socket
from pathlib import Path

from quire.runtime.free_port import free_port, is_free

OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_a_port_for_a_server_is_not_one_that_the_kernel_gives_to_clients() -> None:
    low, high = map(int, OUTGOING.read_text().split())
    assert not [port for port in (free_port() for _ in range(50)) if low <= port <= high]


def test_a_port_that_somebody_has_is_not_free() -> None:
    port = free_port()
    assert is_free(port)
    with socket.create_server(("127.0.0.1", port)):
        assert not is_free(port)
    assert is_free(port)

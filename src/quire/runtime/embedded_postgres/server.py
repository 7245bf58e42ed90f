"""Starts and stops one private Postgres, which ends with the process that started it (fast shutdown)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from io import TextIOWrapper
from pathlib import Path

from quire.runtime.embedded_postgres.account import Account, EmbeddedPostgresError, choose_account
from quire.runtime.embedded_postgres.binaries import find_programs
from quire.runtime.embedded_postgres.cluster import (
    DATABASE,
    ENVIRONMENT,
    OPEN_CLUSTER,
    ROLE,
    check_version,
    create_cluster,
    keep_password,
)
from quire.runtime.embedded_postgres.port import PortTakenError, choose_port
from quire.runtime.embedded_postgres.postmaster_file import (
    CLUSTER_MARK,
    attached_backends,
    has_attached_backends,
    is_postmaster_of,
    read_postmaster_file,
)
from quire.runtime.embedded_postgres.stuck_stop import wait_or_find_stuck
from quire.runtime.embedded_postgres.takeover import take_over
from quire.runtime.log_file import LogFile

# Crash recovery of a full max_wal_size on a slow disk takes about this long.
START_TIMEOUT_SECONDS = 120.0
STOP_TIMEOUT_SECONDS = 30.0
PORT_PATIENCE_SECONDS = 20.0
# Backends see at once that their postmaster is gone, unless they wait for a lock whose holder was killed with it.
BACKEND_ENDS = ((2.0, signal.SIGQUIT), (5.0, signal.SIGKILL))
POLL_SECONDS = 0.02
# What a server says while the remains of a killed one are still going away.
_PASSING_FAILURES = ("is still in use", "already exists", "Address already in use")


class EmbeddedPostgres:
    """`start()` returns a DSN. For the main thread: the server ends when the thread that started it ends."""

    name = "postgres"
    stop_signal = signal.SIGINT
    # Immediate shutdown; the next start recovers from WAL.
    kill_signal = signal.SIGQUIT
    grace_seconds = STOP_TIMEOUT_SECONDS

    def __init__(self, data_dir: Path, port: int = 0) -> None:
        self.data_dir = data_dir.absolute()
        self.cluster = self.data_dir / "cluster"
        self.log = LogFile(self.data_dir / "server.log")
        self.process: subprocess.Popen[bytes] | None = None
        self._wanted_port = port
        self._port = 0
        self._password = ""
        self._lock: TextIOWrapper | None = None

    @property
    def pid(self) -> int:
        """The postmaster's pid. Whoever kills it waits for `process` before the next `start()`."""
        if self.process is None:
            raise EmbeddedPostgresError("the server was not started")
        return self.process.pid

    @property
    def dsn(self) -> str:
        return self.dsn_of(DATABASE)

    def dsn_of(self, database: str) -> str:
        return f"postgresql://{ROLE}:{self._password}@127.0.0.1:{self._port}/{database}"

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> str:
        """Makes the cluster on first use, clears what a crash left behind, waits until it takes queries."""
        if self.is_running():
            return self.dsn
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while not self._try_start(deadline):
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(f"not ready in {START_TIMEOUT_SECONDS:.0f} s: {self._said()}")
            time.sleep(0.2)
        return self.dsn

    def launch(self) -> subprocess.Popen[bytes]:
        """Spawns without waiting for readiness; a supervisor calls this again after every exit."""
        account = self._prepare()
        self._port = choose_port(self.data_dir / "port", self._wanted_port or self._port)
        log = self.log.open()
        try:
            self.process = subprocess.Popen(
                self._command(find_programs(account), account),
                cwd=self.cluster,
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Ctrl-C in a terminal reaches the whole foreground group; only the supervisor may act on it.
                start_new_session=True,
                **account.switch_options(),
            )
        finally:
            os.close(log)
        return self.process

    def stop(self) -> None:
        """Fast shutdown: clients are cut, nothing committed is lost. Does nothing when not running."""
        if self.process is not None:
            self._end(self.process)
            self.process = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def restart(self) -> str:
        self.stop()
        return self.start()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(self.stop_signal)
        if not wait_or_find_stuck(process, STOP_TIMEOUT_SECONDS):
            process.send_signal(self.kill_signal)
            process.wait(STOP_TIMEOUT_SECONDS)

    def _prepare(self) -> Account:
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._hold_lock()
        account = choose_account(self.cluster)
        self._password = keep_password(self.data_dir / "password")
        if not self.cluster.exists():
            create_cluster(self.cluster, find_programs(account), account, self._password)
        check_version(self.cluster)
        self._stop_orphan()
        take_over(self.cluster, account)
        return account

    def _hold_lock(self) -> None:
        """While we live, ours alone: so a server found running on the cluster has lost its starter."""
        if self._lock is not None:
            return
        lock = (self.data_dir / "starter.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise EmbeddedPostgresError(
                f"another process already runs the server in {self.data_dir}"
            ) from None
        self._lock = lock

    def _command(self, programs: Path, account: Account) -> list[str]:
        cluster = self.cluster if account.is_own else OPEN_CLUSTER
        settings = {
            "port": str(self._port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "on",
            "full_page_writes": "on",
            CLUSTER_MARK: str(self.cluster),
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        # setpriv asks for the death signal after the change of account, which would have cleared it.
        return [
            "setpriv",
            "--pdeathsig",
            "INT",
            "--",
            str(programs / "postgres"),
            "-D",
            str(cluster),
            *options,
        ]

    def _try_start(self, deadline: float) -> bool:
        try:
            process = self.launch()
        except PortTakenError:
            waited = START_TIMEOUT_SECONDS - (deadline - time.monotonic())
            if not self._port or waited > PORT_PATIENCE_SECONDS:
                raise
            # Clients know it as ours, and whoever has it now may be passing through.
            return False
        while time.monotonic() < deadline:
            file = read_postmaster_file(self.cluster)
            if file is not None and file.pid == process.pid and file.is_ready:
                (self.data_dir / "port").write_text(f"{self._port}\n")
                return True
            if process.poll() is not None:
                self._judge_failure()
                return False
            time.sleep(POLL_SECONDS)
        self.stop()
        return False

    def _judge_failure(self) -> None:
        """Returns when another try may succeed, raises when it cannot."""
        said = self._said()
        if not any(words in said for words in _PASSING_FAILURES):
            raise EmbeddedPostgresError(f"the server stopped at once: {said}")

    def _said(self) -> str:
        return " | ".join(self.log.latest_lines())

    def _stop_orphan(self) -> None:
        """A server whose starter was killed: stop it if it is on our cluster, and wait for its backends to go. Those
        that a killed server left behind and that do not go are ended."""
        began = time.monotonic()
        ends = list(BACKEND_ENDS)
        file = read_postmaster_file(self.cluster)
        if file is None:
            self._drop_empty_pid_file()
            return
        if is_postmaster_of(file.pid, self.cluster):
            with contextlib.suppress(ProcessLookupError):
                os.kill(file.pid, signal.SIGINT)
        while is_postmaster_of(file.pid, self.cluster) or has_attached_backends(file.shared_memory_id):
            waited = time.monotonic() - began
            if waited > STOP_TIMEOUT_SECONDS:
                raise EmbeddedPostgresError(
                    f"another server (pid {file.pid}) holds {self.cluster} and does not stop"
                )
            if ends and waited > ends[0][0] and not is_postmaster_of(file.pid, self.cluster):
                _send_all(attached_backends(file.shared_memory_id), ends.pop(0)[1])
            time.sleep(POLL_SECONDS)
        # Its pid may belong to a stranger by now, which would make Postgres refuse to start.
        (self.cluster / "postmaster.pid").unlink(missing_ok=True)

    def _drop_empty_pid_file(self) -> None:
        """A power cut may leave it so, and Postgres then refuses to start. Its shared memory still guards us."""
        path = self.cluster / "postmaster.pid"
        if path.exists() and path.stat().st_size == 0:
            path.unlink()


def _send_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

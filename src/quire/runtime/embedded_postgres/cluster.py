"""Makes a database cluster: files, the `quire` role and database. Either whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from pathlib import Path

from quire.runtime.embedded_postgres.account import Account, EmbeddedPostgresError, maker_account
from quire.runtime.embedded_postgres.takeover import take_over

ROLE = DATABASE = "quire"
MAJOR_VERSION = "18"
# A process may use the directory it stands in even when a closed parent (/root is 0700) bars the path to it.
OPEN_CLUSTER = Path("/proc/self/cwd")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_INITDB_TIMEOUT_SECONDS = 120
_MEGABYTE = 1 << 20

# The application's role is no superuser: a flaw in a query must not become files or programs of the machine.
_LOGINS = f"host all {ROLE} 127.0.0.1/32 scram-sha-256\n"
_SETUP_SQL = """\
CREATE ROLE {role} LOGIN CREATEDB PASSWORD '{password}'
GRANT pg_monitor, pg_checkpoint TO {role}
CREATE DATABASE {database} OWNER {role}
"""


def tunables() -> dict[str, str]:
    """For a small machine. Written into postgresql.conf once, so that an operator may change them there."""
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // _MEGABYTE
    return {
        "shared_buffers": f"{min(max(memory_mb // 8, 128), 1024)}MB",
        "max_connections": "200",
        "work_mem": "8MB",
        "maintenance_work_mem": "64MB",
        "huge_pages": "off",
        # A page's first change after a checkpoint goes to WAL whole: fewer checkpoints, less WAL.
        "checkpoint_timeout": "15min",
        "max_wal_size": "2GB",
        "min_wal_size": "128MB",
        # A queue's rows die young; dead ones slow every claim down until they are vacuumed.
        "autovacuum_naptime": "2s",
        "autovacuum_vacuum_cost_limit": "2000",
        "random_page_cost": "1.1",
        "jit": "off",
        "tcp_keepalives_idle": "60",
        "log_checkpoints": "off",
        "log_line_prefix": "%m [%p] %a ",
        "log_timezone": "UTC",
        "timezone": "UTC",
    }


def create_cluster(cluster: Path, programs: Path, account: Account, password: str) -> None:
    """Builds beside the final name and renames: an interrupted attempt leaves nothing that looks finished."""
    staging = cluster.with_name(cluster.name + ".new")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(mode=0o700)
    maker = maker_account(account)
    maker.give(staging)
    _run_initdb(staging, programs, maker)
    _run_single_user(staging, programs, maker, password)
    _write_logins(staging, maker)
    take_over(staging, account)
    staging.rename(cluster)
    _sync_directory(cluster.parent)


def check_version(cluster: Path) -> None:
    found = (cluster / "PG_VERSION").read_text().strip()
    if found != MAJOR_VERSION:
        raise EmbeddedPostgresError(
            f"{cluster} holds data of Postgres {found}, this release runs {MAJOR_VERSION}: "
            "`quire backup` with the old release, then `quire restore` with this one"
        )


def keep_password(path: Path) -> str:
    """Made once; 0600 from its first byte."""
    if path.exists():
        return path.read_text().strip()
    password = secrets.token_urlsafe(32)
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(password + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
    return password


def _run_initdb(staging: Path, programs: Path, account: Account) -> None:
    settings = [f"--set={name}={value}" for name, value in tunables().items()]
    # The builtin C.UTF-8 sorts alike on every machine: no index breaks when the C library changes its rules.
    locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    # No login at all until `_write_logins`.
    arguments = ["--pgdata", str(OPEN_CLUSTER), "--username=postgres", "--auth=reject", *locale, *settings]
    _run([str(programs / "initdb"), *arguments], staging, account, b"")


def _run_single_user(staging: Path, programs: Path, account: Account, password: str) -> None:
    sql = _SETUP_SQL.format(role=ROLE, database=DATABASE, password=password).encode()
    # `exit_on_error` turns a failed statement into a failed command.
    arguments = ["--single", "-D", str(OPEN_CLUSTER), "-c", "exit_on_error=on", "postgres"]
    _run([str(programs / "postgres"), *arguments], staging, account, sql)


def _write_logins(staging: Path, account: Account) -> None:
    path = staging / "pg_hba.conf"
    path.unlink()
    # Exclusive: as root we must not follow a link that the directory's owner might have put there.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(_LOGINS)
        file.flush()
        os.fsync(file.fileno())
    account.give(path)


def _run(command: list[str], cwd: Path, account: Account, stdin: bytes) -> None:
    done = subprocess.run(
        command,
        cwd=cwd,
        input=stdin,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_INITDB_TIMEOUT_SECONDS,
        check=False,
        **account.switch_options(),
    )
    if done.returncode != 0:
        output = done.stdout.decode(errors="replace").strip()[-800:]
        raise EmbeddedPostgresError(f"{Path(command[0]).name} failed: {output}")


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

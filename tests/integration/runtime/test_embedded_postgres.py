"""The private Postgres starts, stops and comes back from every crash, as root and as anyone else."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from quire.runtime.account import LASTING_IDS
from quire.runtime.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError, binaries
from quire.runtime.embedded_postgres.account import choose_account
from quire.runtime.embedded_postgres.postmaster_file import is_postmaster_of
from quire.runtime.embedded_postgres.server import STOP_TIMEOUT_SECONDS

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

STARTER = """
import sys, time
from pathlib import Path
from quire.runtime.embedded_postgres import EmbeddedPostgres
server = EmbeddedPostgres(Path(sys.argv[1]))
server.start()
print(server.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def server(data_dir: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(data_dir)
    server.start()
    yield server
    server.stop()


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "condition not met in time"
        time.sleep(0.02)


async def ask(dsn: str, sql: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def test_starts_twice_in_a_row_on_the_same_port_with_the_same_data(server: EmbeddedPostgres) -> None:
    first_dsn = server.dsn
    await ask(first_dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    assert server.restart() == first_dsn
    assert await ask(first_dsn, "SELECT answer FROM kept") == 42


async def test_writes_are_durable_and_the_role_is_no_superuser(server: EmbeddedPostgres) -> None:
    assert await ask(server.dsn, "SHOW fsync") == "on"
    assert await ask(server.dsn, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await ask(server.dsn, "SELECT pg_read_file('/etc/passwd')")


async def test_refuses_a_wrong_password_and_other_roles(server: EmbeddedPostgres) -> None:
    port = server.dsn.rsplit(":", 1)[1].split("/")[0]
    with pytest.raises(asyncpg.InvalidPasswordError):
        await ask(f"postgresql://quire:wrong@127.0.0.1:{port}/quire", "SELECT 1")
    with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
        await ask(f"postgresql://postgres@127.0.0.1:{port}/postgres", "SELECT 1")


def test_secrets_are_readable_by_the_owner_alone(server: EmbeddedPostgres) -> None:
    assert (server.data_dir / "password").stat().st_mode & 0o777 == 0o600
    assert server.data_dir.stat().st_mode & 0o777 == 0o700
    assert server.cluster.stat().st_mode & 0o777 == 0o700


async def test_acknowledged_rows_survive_a_killed_postmaster_with_busy_clients(
    server: EmbeddedPostgres,
) -> None:
    busy = await asyncpg.connect(server.dsn)
    await busy.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    os.kill(server.pid, signal.SIGKILL)
    assert server.process is not None
    server.process.wait()
    server.start()
    assert await ask(server.dsn, "SELECT answer FROM kept") == 42
    busy.terminate()


async def test_a_killed_backend_costs_only_its_connections_and_a_stop_in_that_moment_is_not_forgotten(
    server: EmbeddedPostgres,
) -> None:
    victim = await asyncpg.connect(server.dsn)
    os.kill(await victim.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await victim.fetchval("SELECT 1")
    assert server.is_running()
    began_at = time.monotonic()
    server.stop()
    assert time.monotonic() - began_at < STOP_TIMEOUT_SECONDS
    assert await ask(server.start(), "SELECT 1") == 1


async def test_a_backend_that_does_not_see_its_postmasters_death_is_ended_before_the_next_start(
    server: EmbeddedPostgres,
) -> None:
    connection = await asyncpg.connect(server.dsn)
    backend = await connection.fetchval("SELECT pg_backend_pid()")
    # As one does that waits for a lock of a process that was killed too.
    os.kill(backend, signal.SIGSTOP)
    os.kill(server.pid, signal.SIGKILL)
    assert server.process is not None
    server.process.wait()
    server.start()
    assert not Path(f"/proc/{backend}/maps").exists() or not Path(f"/proc/{backend}/maps").read_text()
    connection.terminate()
    again = await asyncpg.connect(server.dsn)
    assert await again.fetchval("SELECT 1") == 1
    await again.close()


async def test_server_ends_with_its_killed_starter_and_the_next_start_succeeds(data_dir: Path) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(data_dir)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert starter.stdout is not None
    assert starter.stdin is not None
    postmaster = int(starter.stdout.readline())
    starter.kill()
    starter.wait()
    starter.stdout.close()
    starter.stdin.close()
    server = EmbeddedPostgres(data_dir)
    try:
        assert await ask(server.start(), "SELECT 1") == 1
        assert server.pid != postmaster
        assert not is_postmaster_of(postmaster, server.cluster)
    finally:
        server.stop()


async def test_an_orphan_on_our_cluster_is_stopped_before_a_start(server: EmbeddedPostgres) -> None:
    arguments = Path(f"/proc/{server.pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    account = choose_account(server.cluster)
    server.stop()
    orphan = subprocess.Popen(
        arguments, cwd=server.cluster, stderr=subprocess.DEVNULL, **account.switch_options()
    )
    wait_until(lambda: (server.cluster / "postmaster.pid").exists())
    assert await ask(server.start(), "SELECT 1") == 1
    assert orphan.wait(10) == 0


async def test_a_pid_file_that_names_a_living_stranger_does_not_stop_the_start(
    server: EmbeddedPostgres,
) -> None:
    pid_file = server.cluster / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    account = choose_account(server.cluster)
    server.stop()
    stranger = subprocess.Popen(["sleep", "600"], **account.switch_options())
    try:
        pid_file.write_text("\n".join([str(stranger.pid), *lines[1:]]) + "\n")
        account.give(pid_file)
        assert await ask(server.start(), "SELECT 1") == 1
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


async def test_an_empty_pid_file_of_a_power_cut_does_not_stop_the_start(server: EmbeddedPostgres) -> None:
    server.stop()
    (server.cluster / "postmaster.pid").touch()
    assert await ask(server.start(), "SELECT 1") == 1


async def test_two_servers_run_side_by_side(server: EmbeddedPostgres, tmp_path: Path) -> None:
    other = EmbeddedPostgres(tmp_path / "other")
    try:
        assert await ask(other.start(), "SELECT 1") == 1
        assert await ask(server.dsn, "SELECT 1") == 1
    finally:
        other.stop()


def test_a_second_starter_on_the_same_directory_is_refused(server: EmbeddedPostgres) -> None:
    with pytest.raises(EmbeddedPostgresError, match="already runs"):
        EmbeddedPostgres(server.data_dir).start()
    assert server.is_running()


async def test_moves_to_a_free_port_when_the_remembered_one_is_taken(server: EmbeddedPostgres) -> None:
    taken = int((server.data_dir / "port").read_text())
    server.stop()
    with socket.create_server(("127.0.0.1", taken)):
        moved = EmbeddedPostgres(server.data_dir)
        try:
            dsn = moved.start()
            assert f":{taken}/" not in dsn
            assert await ask(dsn, "SELECT 1") == 1
        finally:
            moved.stop()


async def test_a_server_that_comes_back_waits_for_a_stranger_who_passes_through_its_port(
    server: EmbeddedPostgres,
) -> None:
    """Clients hold its address; another port would cut them off for good."""
    dsn = server.dsn
    server.stop()
    stranger = socket.create_server(("127.0.0.1", int((server.data_dir / "port").read_text())))
    leaving = threading.Timer(1.0, stranger.close)
    leaving.start()
    try:
        assert server.start() == dsn
    finally:
        leaving.join()
    assert await ask(dsn, "SELECT 1") == 1


def test_an_interrupted_first_start_leaves_nothing_that_looks_finished(data_dir: Path) -> None:
    (data_dir / "cluster.new").mkdir(parents=True)
    (data_dir / "cluster.new" / "PG_VERSION").write_text("18\n")
    server = EmbeddedPostgres(data_dir)
    try:
        server.start()
        assert not (data_dir / "cluster.new").exists()
    finally:
        server.stop()


def test_data_of_another_major_version_is_refused_with_the_way_out(server: EmbeddedPostgres) -> None:
    server.stop()
    (server.cluster / "PG_VERSION").write_text("15\n")
    with pytest.raises(EmbeddedPostgresError, match="quire restore"):
        server.start()


def test_a_damaged_setting_is_reported_in_the_servers_own_words(server: EmbeddedPostgres) -> None:
    server.stop()
    with (server.cluster / "postgresql.conf").open("a") as file:
        file.write("shared_buffers = 'plenty'\n")
    with pytest.raises(EmbeddedPostgresError, match="shared_buffers"):
        server.start()


@as_root
def test_as_root_the_server_runs_unprivileged_under_a_closed_directory(server: EmbeddedPostgres) -> None:
    status = Path(f"/proc/{server.pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert "0" not in fields["Uid"].split()
    assert int(fields["CapEff"], 16) == 0
    assert not choose_account(server.cluster).can_enter(server.cluster)


@as_root
async def test_a_cluster_of_nobody_is_taken_over_at_the_next_start(
    server: EmbeddedPostgres, tmp_path: Path
) -> None:
    """Releases before ran Postgres as nobody. What the old owner may have left there leads out of the cluster."""
    await ask(server.dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    server.stop()
    give_to_nobody(server.cluster)
    outside = tmp_path / "outside"
    outside.touch()
    (server.cluster / "link").symlink_to(outside)
    os.link(outside, server.cluster / "second-name")
    # An earlier takeover that was interrupted.
    os.chown(server.cluster / "base", LASTING_IDS[0], LASTING_IDS[0])
    assert await ask(server.start(), "SELECT answer FROM kept") == 42
    owner = server.cluster.stat().st_uid
    assert owner not in (0, NOBODY)
    own = [path for path in server.cluster.rglob("*") if path.name not in ("link", "second-name")]
    assert {path.lstat().st_uid for path in own} == {owner}
    assert outside.stat().st_uid == 0


@as_root
def test_a_cluster_with_files_elsewhere_is_not_taken_over_in_part(
    server: EmbeddedPostgres, tmp_path: Path
) -> None:
    server.stop()
    shutil.move(server.cluster / "pg_wal", tmp_path / "wal")
    (server.cluster / "pg_wal").symlink_to(tmp_path / "wal")
    for tree in (server.cluster, tmp_path / "wal"):
        give_to_nobody(tree)
    with pytest.raises(EmbeddedPostgresError, match="pg_wal in the cluster leads to files of user"):
        server.start()
    assert server.cluster.stat().st_uid == NOBODY


def give_to_nobody(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


@as_root
def test_programs_under_a_closed_directory_are_copied_where_the_server_can_run_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = choose_account(tmp_path / "none")
    site = find_site()
    with tempfile.TemporaryDirectory(prefix="quire-cache-") as parent:
        Path(parent).chmod(0o755)
        monkeypatch.setattr(binaries, "SHARED_CACHE", Path(parent) / "quire")
        closed = tmp_path / "site-packages"
        for part in ("embedded_postgres", "embedded_postgres.libs"):
            shutil.copytree(site / part, closed / part)
        (closed / "embedded_postgres-18.dist-info").mkdir()
        (closed / "embedded_postgres-18.dist-info" / "METADATA").write_text(
            "Name: embedded-postgres\nVersion: 18\n"
        )
        monkeypatch.syspath_prepend(str(closed))
        programs = binaries.find_programs(account)
        assert programs.is_relative_to(parent)
        said = subprocess.run(
            [programs / "postgres", "--version"], check=True, capture_output=True, **account.switch_options()
        )
        assert b"18." in said.stdout


def find_site() -> Path:
    return Path(str(importlib.metadata.distribution("embedded-postgres").locate_file("")))

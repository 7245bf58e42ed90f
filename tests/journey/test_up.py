"""`quire up` from an empty directory to a clean stop, and back from every kind of kill."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journey.quire_up import QuireUp, clean_environment, is_alive, wait_until


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuireUp]:
    quire = QuireUp(tmp_path_factory.mktemp("up") / "data")
    try:
        yield quire.wait_ready()
    finally:
        quire.interrupt()


def run_quire(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "quire", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd="/",
        env={**clean_environment(), **environment},
    )


def test_it_serves_and_its_token_opens_the_closed_doors(running: QuireUp) -> None:
    assert running.get("/readyz").status_code == 200
    assert running.get("/tokens").status_code == 401
    assert running.get("/tokens", running.token).status_code == 200


def test_metrics_of_a_broker_are_not_shown_where_postgres_wakes_workers(running: QuireUp) -> None:
    metrics = running.get("/metrics", running.token).text
    assert "quire_broker_published_total" in metrics
    assert "quire_broker_up" not in metrics


def test_first_start_shows_where_it_is_and_the_token_once(running: QuireUp) -> None:
    assert running.url in running.output
    assert running.output.count(running.token) == 1
    assert str(running.data_dir) in running.output


def test_every_secret_is_private(running: QuireUp) -> None:
    secrets = ["secret.key", "admin.token", "postgres.dsn", "postgres/password"]
    for path in [*(running.data_dir / name for name in secrets), running.ready_path]:
        assert path.stat().st_mode & 0o777 == 0o600, path
    assert running.data_dir.stat().st_mode & 0o777 == 0o700


def test_doctor_finds_everything_fit(running: QuireUp) -> None:
    done = run_quire("doctor", "--json", "--data-dir", str(running.data_dir))
    said = json.loads(done.stdout)
    findings = {finding["part"]: finding["status"] for finding in said}
    assert done.returncode == 0, done.stdout
    assert {"python", "database", "durability", "clock", "schema", "storage"} <= findings.keys()
    assert "fail" not in findings.values()
    assert "that of `quire up` answers" in [finding["detail"] for finding in said]


def test_a_second_one_in_the_same_directory_is_refused(running: QuireUp) -> None:
    done = run_quire("up", "--data-dir", str(running.data_dir), "--port", "0")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: ALREADY_RUNNING: pid {running.process.pid} ")
    assert running.is_ready()


@pytest.mark.parametrize("program", ["api", "worker", "postgres"])
def test_a_killed_program_comes_back(running: QuireUp, program: str) -> None:
    victim = running.children()[program]
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: running.children().get(program, victim) != victim and running.is_ready())
    assert running.get("/tokens", running.token).status_code == 200


def test_ctrl_c_stops_everything_and_takes_the_announcement_back(tmp_path: Path) -> None:
    quire = QuireUp(tmp_path / "data").wait_ready()
    children = quire.children()
    assert quire.interrupt() == 0
    assert "Stopping: finishing running jobs, up to 30 s. Ctrl-C again stops now." in quire.output
    assert not quire.ready_path.exists()
    assert not [name for name, pid in children.items() if is_alive(pid)]


def test_after_a_kill_nothing_is_left_and_the_next_start_succeeds_with_the_same_token(tmp_path: Path) -> None:
    first = QuireUp(tmp_path / "data").wait_ready()
    children = first.children()
    first.kill()
    second = QuireUp(tmp_path / "data").wait_ready()
    try:
        wait_until(lambda: not any(is_alive(pid) for pid in children.values()))
        assert second.token == first.token
        assert second.output.count(first.token) == 1
        assert second.get("/tokens", first.token).status_code == 200
    finally:
        second.interrupt()


def test_with_a_database_of_its_own_no_embedded_one_is_started(dsn: str, tmp_path: Path) -> None:
    quire = QuireUp(tmp_path / "data", environment={"DATABASE_URL": dsn}).wait_ready()
    try:
        assert "postgres" not in quire.children()
        assert not (quire.data_dir / "postgres").exists()
        assert quire.get("/tokens", quire.token).status_code == 200
    finally:
        quire.interrupt()


def test_a_taken_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run_quire("up", "--data-dir", str(tmp_path / "data"), "--port", port)
    assert done.returncode == 1
    assert done.stderr.startswith("error: PORT_TAKEN: ")
    assert "--port 0" in done.stderr
    assert not (tmp_path / "data" / "postgres").exists()


def test_an_unreachable_database_is_one_line_and_an_exit_code(tmp_path: Path) -> None:
    dead = "postgresql://quire:secret@127.0.0.1:1/quire"
    done = run_quire("up", "--data-dir", str(tmp_path / "data"), "--port", "0", DATABASE_URL=dead)
    assert done.returncode == 3
    assert "error: DATABASE_UNAVAILABLE: " in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


def test_doctor_without_a_database_fails_and_says_what_to_do(tmp_path: Path) -> None:
    done = run_quire("doctor", "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 1
    assert "quire up" in done.stdout

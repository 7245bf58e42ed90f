"""`quire up` from an empty directory to a clean stop, and back from every kind of kill."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.press import document, ended, rejected_document
from tests.support.quire_up import QuireUp, clean_environment, is_alive, wait_until


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


def test_no_process_of_a_first_start_dies_over_what_another_one_has_yet_to_make(running: QuireUp) -> None:
    """Comes first: later tests kill some. Ready means that a worker lives."""
    assert running.get("/workers", running.token).json()["items"]
    assert "next start in" not in running.output


def test_it_serves_and_its_token_opens_the_closed_doors(running: QuireUp) -> None:
    assert running.get("/readyz").status_code == 200
    assert running.get("/tokens").status_code == 401
    assert running.get("/tokens", running.token).status_code == 200


def test_metrics_of_a_broker_are_not_shown_where_postgres_wakes_workers(running: QuireUp) -> None:
    metrics = running.get("/metrics", running.token).text
    assert "quire_broker_published_total" in metrics
    assert "quire_broker_up" not in metrics


def scraped(running: QuireUp) -> dict[str, float]:
    """Every series of the API's /metrics, by its name and labels as written."""
    text = running.get("/metrics", running.token).text
    pairs = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


STATUSES = ("queued", "running", "succeeded", "failed")


def counted(now: dict[str, float], codes: set[str]) -> dict[str, float]:
    """Figures of documents by what they count, as the API tells them."""
    by_status = {status: now[f'ptf_admin_pdf_jobs_total{{status="{status}"}}'] for status in STATUSES}
    by_code = {code: now.get(f'ptf_admin_pdf_failures_total{{error_code="{code}"}}', 0.0) for code in codes}
    return {
        **by_status,
        **by_code,
        "total": now["ptf_admin_pdf_render_total_seconds_count"],
        "total in buckets": now['ptf_admin_pdf_render_total_seconds_bucket{le="+Inf"}'],
        "executor": now["ptf_admin_pdf_render_executor_seconds_count"],
    }


def recorded(jobs: list[dict[str, Any]]) -> dict[str, float]:
    """The same, from the timelines of the jobs themselves: a busy machine may try one twice, or fail one."""
    moves = [event["to_state"] for job in jobs for event in job["timeline"]]
    found = {status: float(moves.count(status)) for status in STATUSES}
    ends = found["succeeded"] + found["failed"]
    failures = Counter(job["error_code"] for job in jobs if job["state"] == "failed")
    return {**found, **failures, "total": ends, "total in buckets": ends, "executor": found["succeeded"]}


def test_metrics_of_the_api_tell_what_workers_did_also_when_one_was_killed(running: QuireUp) -> None:
    job_ids: list[str] = []
    jobs: list[dict[str, Any]] = []
    authorization = {"Authorization": f"Bearer {running.token}"}
    client = httpx.Client(base_url=running.url, headers=authorization, timeout=60, trust_env=False)

    def do(body: dict[str, Any]) -> str:
        """Documents are refused while no worker is there, and counted by nobody."""
        answers: list[httpx.Response] = []
        wait_until(lambda: answers.append(client.post("/pdf/jobs", json=body)) or answers[-1].is_success)
        job_ids.append(answers[-1].json()["job_id"])
        status = ended(client, job_ids[-1])["status"]
        jobs[:] = [client.get(f"/jobs/{job_id}").json() for job_id in job_ids]
        return str(status)

    def truthful() -> bool:
        codes = {job["error_code"] for job in jobs if job["state"] == "failed"}
        return counted(scraped(running), codes) == recorded(jobs)

    with client:
        assert do(rejected_document("counted")) == "failed"
        assert "succeeded" in (do(document(f"counted {number}")) for number in range(3))
        wait_until(truthful)
        victim = running.children()["worker"]
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: running.children().get("worker", victim) != victim)
        assert truthful()
        assert "succeeded" in (do(document(f"again {number}")) for number in range(3))
        wait_until(truthful)


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

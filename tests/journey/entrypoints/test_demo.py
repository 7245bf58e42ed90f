"""`quire demo` as a person runs it: beside a running Quire, without one, and when a promise is broken."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.api_server import api_settings, serving_api
from tests.support.printing import open_directory
from tests.support.quire_up import QuireUp, clean_environment

from quire.entrypoints.demo import SCENARIOS


def run_demo(directory: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "quire", "demo", *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=directory,
        env={**clean_environment(), "COLUMNS": "110", **environment},
    )


def running_quires() -> set[str]:
    """Command lines of every `quire` process on this machine that a demo may have started."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if "quire-demo-" in line:
                found.add(line)
    return found


@pytest.fixture
def scratch() -> Iterator[Path]:
    """For temporary files; a browser that runs as somebody else must be able to enter it."""
    with open_directory() as path:
        yield path


def test_without_a_running_quire_it_starts_a_private_one_and_leaves_nothing(
    tmp_path: Path, scratch: Path
) -> None:
    done = run_demo(tmp_path, TMPDIR=str(scratch), QUIRE_DATA_DIR=str(tmp_path / "data"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"demo: all {len(SCENARIOS)} passed"
    assert "starting a private one" in done.stderr
    for scenario in SCENARIOS:
        assert scenario.shows in done.stdout
    assert not list(scratch.glob("quire-demo-*"))
    assert not {line for line in running_quires() if str(scratch) in line}
    assert not (tmp_path / "data").exists()


def test_beside_a_running_quire_it_uses_that_one_twice(tmp_path: Path) -> None:
    quire = QuireUp(tmp_path / "data", environment={"QUIRE_DIAGNOSTIC_KINDS": "true"}).wait_ready()
    try:
        for _ in range(2):
            done = run_demo(tmp_path, "--json", QUIRE_DATA_DIR=str(quire.data_dir))
            assert done.returncode == 0, done.stdout + done.stderr
            assert f"Using the Quire at {quire.url}" in done.stderr
            rows = json.loads(done.stdout)
            assert [row["shows"] for row in rows] == [scenario.shows for scenario in SCENARIOS]
            assert all(row["passed"] for row in rows)
        assert len(quire.get("/jobs?kind=jobs.store", quire.token).json()["items"]) == 2
    finally:
        quire.interrupt()
    assert not (quire.data_dir / "api.url").exists()


def test_beside_a_quire_without_diagnostic_kinds_it_shows_the_rest_and_says_what_it_left_out(
    tmp_path: Path,
) -> None:
    left_out = sum(scenario.diagnostic for scenario in SCENARIOS)
    assert 0 < left_out < len(SCENARIOS)
    quire = QuireUp(tmp_path / "data").wait_ready()
    try:
        done = run_demo(tmp_path, QUIRE_DATA_DIR=str(quire.data_dir))
        assert quire.get("/jobs?kind=jobs.echo", quire.token).json()["items"] == []
    finally:
        quire.interrupt()
    assert done.returncode == 0, done.stdout + done.stderr
    verdict = done.stdout.splitlines()[-1]
    assert verdict.startswith(f"demo: {len(SCENARIOS) - left_out} passed, {left_out} left out: ")
    assert "QUIRE_DIAGNOSTIC_KINDS=true" in verdict
    assert done.stdout.count("left out") == left_out + 1


def test_a_named_quire_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    done = run_demo(tmp_path, "--url", "http://127.0.0.1:1", "--token", "qr_x")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: API_UNREACHABLE: ")


async def test_whatever_fails_is_named_and_the_exit_code_says_so(dsn: str, tmp_path: Path) -> None:
    async with serving_api(api_settings(dsn, tmp_path)) as url:
        done = await asyncio.to_thread(run_demo, tmp_path, "--url", url, "--token", "qr_not_a_token")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"demo: {len(SCENARIOS)} of {len(SCENARIOS)} failed"
    assert done.stdout.count("TOKEN_INVALID") == len(SCENARIOS)

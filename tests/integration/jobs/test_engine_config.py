"""A worker with a wrong policy does not start, and says what is wrong in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.engine_fixture import QUEUES, write_config

QUIRE = Path(sys.executable).with_name("quire")
BROKEN = {
    "wrong key": ({"queues": QUEUES + "  test.x: {qeue: default}\n"}, "qeue"),
    "wrong type": (
        {"retries": "version: 1\nkinds:\n  a.b:\n    - {codes: A, attempts: 3}\n"},
        "retries.yaml:4",
    ),
    "unknown integration": ({"throttling": "version: 1\n"}, "queues.yaml:"),
    "no YAML": ({"throttling": "version: 1\nintegrations: {\n"}, "throttling.yaml:3"),
    "twice": ({"queues": "version: 1\nqueues:\n  default: {}\n  default: {}\n"}, "queues.yaml:4"),
    "no default": ({"queues": "version: 1\nqueues:\n  other: {}\n"}, "queues.yaml:2"),
}


def start_worker(
    dsn: str, directory: Path, config: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """It should end by itself; the timeout is for the case that it does not."""
    env = {
        **os.environ,
        "DATABASE_URL": dsn,
        "QUIRE_CONFIG_DIR": str(config),
        "QUIRE_STORAGE_URL": f"file:{directory / 'storage'}",
        "QUIRE_DATA_DIR": str(directory),
        **environment,
    }
    return subprocess.run(
        [QUIRE, "worker"], env=env, cwd=directory, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("name", BROKEN)
def test_a_worker_with_a_broken_policy_ends_with_one_line_and_no_traceback(
    dsn: str, tmp_path: Path, name: str
) -> None:
    files, place = BROKEN[name]
    done = start_worker(dsn, tmp_path, write_config(tmp_path, **files))
    assert done.returncode == 1
    assert done.stderr.startswith("error: CONFIG_INVALID: ")
    assert place in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("queues", ["nothing_*", "default,nothing_*"])
def test_a_worker_with_a_pattern_that_matches_no_queue_says_so(dsn: str, tmp_path: Path, queues: str) -> None:
    done = start_worker(dsn, tmp_path, write_config(tmp_path), WORKER_QUEUES=queues)
    assert done.returncode == 1
    assert done.stderr.startswith("error: SETTINGS_INVALID: ")
    assert "no queue matches 'nothing_*'; there are: brief, capped, default," in done.stderr
    assert "Traceback" not in done.stdout + done.stderr

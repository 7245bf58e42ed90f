"""Quire started in a directory that strangers may write to: none of its processes imports anything from there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.support.press import sample
from tests.support.quire_up import QuireUp, clean_environment

PROGRAMS = Path(sys.executable).parent
DRAMATIQ = ("dramatiq", "quire.entrypoints.dramatiq_worker", "--processes", "1")
RQ = ("rq", "worker", "-c", "quire.entrypoints.rq_worker", "-w", "quire.entrypoints.rq_worker.QuireWorker")
# Parts of Python, of what Quire depends on, and of Quire.
SHADOWED = ("asyncio", "json", "signal", "structlog", "asyncpg", "jinja2", "markupsafe", "babel", "uvicorn")
READERS_SHADOWED = ("pypdfium2", "lxml", "selectors", "socket", "playwright", "quire")
TRAP = """
import os, sys
with open({mark!r}, "a") as file:
    file.write(f"{{__name__}} in {{sys.argv}}\\n")
"""


class Directory:
    """Whoever imports one of its modules leaves a line in a file outside."""

    def __init__(self, root: Path) -> None:
        self.path = root / "foreign"
        self.path.mkdir()
        self._mark = root / "imported"

    def shadow(self, *names: str) -> None:
        for name in names:
            (self.path / f"{name}.py").write_text(TRAP.format(mark=str(self._mark)))

    def imported(self) -> str:
        return self._mark.read_text() if self._mark.exists() else ""


@pytest.fixture
def directory(tmp_path: Path) -> Directory:
    return Directory(tmp_path)


@pytest.fixture
def running(directory: Directory, dsn: str) -> Iterator[QuireUp]:
    directory.shadow(*SHADOWED, *READERS_SHADOWED)
    quire = QuireUp(
        directory.path.with_name("data"),
        environment={"DATABASE_URL": dsn},
        directory=directory.path,
    )
    try:
        quire.wait_started()
        assert directory.imported() == ""
        yield quire.wait_ready()
    finally:
        quire.interrupt()


def test_no_process_of_quire_up_imports_from_the_directory_it_was_started_in(
    running: QuireUp, directory: Directory
) -> None:
    """The gateway's fork server starts with it, a template process with the first document."""
    shown = httpx.post(
        f"{running.url}/pdf/preview",
        json={"template_name": "invoice", "payload": sample()},
        headers={"Authorization": f"Bearer {running.token}"},
        timeout=60,
    )
    assert shown.status_code == 200, shown.text
    assert {"gateway", "worker", "api"} <= running.children().keys()
    assert directory.imported() == ""


def test_the_command_itself_imports_nothing_from_there(directory: Directory) -> None:
    """`python -m` puts the directory first. Before our first line it has imported our package, and nothing else."""
    directory.shadow(*set(SHADOWED) - {"signal"})
    command = [sys.executable, "-m", "quire", "doctor", "--json"]
    subprocess.run(command, cwd=directory.path, env=clean_environment(), capture_output=True, timeout=60)
    assert directory.imported() == ""


@pytest.mark.parametrize("command", [DRAMATIQ, RQ], ids=["dramatiq", "rq"])
def test_workers_by_other_command_lines_import_nothing_from_there(
    directory: Directory, command: tuple[str, ...]
) -> None:
    """Dramatiq and RQ add the directory to the path themselves. Without a broker of theirs they end at once."""
    directory.shadow("structlog", "asyncpg", "uvicorn", "redis", "pika", "setproctitle")
    done = _run(directory, command)
    assert (done.returncode != 0, directory.imported()) == (True, "")


def test_dramatiq_with_an_empty_path_does_not_even_find_another_quire_there(directory: Directory) -> None:
    directory.shadow("quire", "structlog")
    done = _run(directory, (*DRAMATIQ, "--path"))
    assert "Dramatiq works with redis:// and amqp://" in done.stderr
    assert directory.imported() == ""


def _run(directory: Directory, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    program, *arguments = command
    return subprocess.run(
        [str(PROGRAMS / program), *arguments],
        cwd=directory.path,
        env={
            **clean_environment(),
            "DATABASE_URL": os.environ.get("DATABASE_URL", "postgresql://127.0.0.1:1/none"),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

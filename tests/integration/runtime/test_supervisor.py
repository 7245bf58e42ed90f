"""Real child processes under the supervisor: restarted, stopped in order, never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.runtime.log_file import LIMIT_BYTES, LogFile
from quire.runtime.program import Command
from quire.runtime.supervisor import Failure, Supervisor

# Writes its name when it begins and when it is told to end.
CHILD = """
import signal, sys
def end(*_):
    print("end", sys.argv[1], file=open(sys.argv[2], "a", buffering=1))
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("begin", sys.argv[1], file=open(sys.argv[2], "a", buffering=1))
signal.pause()
"""
DEAF = """
import signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(sys.argv[2], "a").write("deaf")
signal.pause()
"""

STARTER = """
import os, sys
from pathlib import Path
from quire.runtime.log_file import LogFile
from quire.runtime.program import Command
from quire.runtime.supervisor import Supervisor
command = [sys.executable, "-c", {child!r}, "child", sys.argv[1]]
child = Command("child", command, os.environ, LogFile(Path(sys.argv[2])))
Supervisor([[child]], print).run(lambda: None)
"""


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    path.touch()
    return path


def child(name: str, journal: Path, code: str = CHILD, grace_seconds: float = 10.0) -> Command:
    arguments = [sys.executable, "-c", code, name, str(journal)]
    return Command(name, arguments, os.environ, LogFile(journal.with_name(f"{name}.log")), grace_seconds)


def stop_when(condition: Callable[[], bool]) -> Callable[[], None]:
    deadline = time.monotonic() + 20

    def tick() -> None:
        assert time.monotonic() < deadline, "condition not met in time"
        if condition():
            os.kill(os.getpid(), signal.SIGTERM)

    return tick


def test_stages_start_in_order_and_stop_in_reverse(journal: Path) -> None:
    supervisor = Supervisor([[child("database", journal)], [child("api", journal)]], on_failure=print)

    def note_stop() -> None:
        with journal.open("a") as file:
            file.write("stopping\n")

    supervisor.run(stop_when(lambda: journal.read_text().count("begin") == 2), note_stop)
    assert journal.read_text().splitlines()[2:] == ["stopping", "end api", "end database"]


def test_a_child_that_dies_is_started_again_with_growing_delays(journal: Path) -> None:
    failures: list[Failure] = []
    dying = "import sys; print('no luck'); sys.exit(7)"
    supervisor = Supervisor([[child("dying", journal, dying)]], failures.append)
    supervisor.run(stop_when(lambda: len(failures) == 3))
    assert [failure.retry_in_seconds for failure in failures] == [0.5, 1.0, 2.0]
    assert {failure.reason for failure in failures} == {"exit code 7"}
    assert failures[0].last_lines == ["no luck"]


def test_a_killed_child_comes_back_while_the_others_stay(journal: Path) -> None:
    victim = child("victim", journal)
    failures: list[Failure] = []
    supervisor = Supervisor([[child("other", journal)], [victim]], failures.append)
    process = victim.launch()
    supervisor.adopt(victim, process)
    wait_for(journal, "begin victim")
    process.kill()
    supervisor.run(stop_when(lambda: journal.read_text().count("begin victim") == 2))
    assert failures[0].reason == "killed by signal 9"
    assert journal.read_text().count("begin other") == 1


def test_a_child_that_ignores_the_stop_is_killed_after_its_grace(journal: Path) -> None:
    supervisor = Supervisor([[child("deaf", journal, DEAF, grace_seconds=0.3)]], on_failure=print)
    supervisor.run(stop_when(lambda: "deaf" in journal.read_text()))


def test_a_second_signal_does_not_wait_for_the_grace(journal: Path) -> None:
    supervisor = Supervisor([[child("deaf", journal, DEAF, grace_seconds=600)]], on_failure=print)

    def interrupt_twice() -> None:
        if "deaf" in journal.read_text():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    began_at = time.monotonic()
    supervisor.run(interrupt_twice)
    assert time.monotonic() - began_at < 60


def test_what_the_tick_raises_stops_everything(journal: Path) -> None:
    supervisor = Supervisor([[child("api", journal)]], on_failure=print)

    def give_up() -> None:
        if "begin api" in journal.read_text():
            raise LookupError

    with pytest.raises(LookupError):
        supervisor.run(give_up)
    assert "end api" in journal.read_text()


def test_children_end_with_a_killed_supervisor(journal: Path, tmp_path: Path) -> None:
    code = STARTER.format(child=CHILD)
    starter = subprocess.Popen([sys.executable, "-c", code, str(journal), str(tmp_path / "child.log")])
    wait_for(journal, "begin child")
    starter.kill()
    starter.wait()
    wait_for(journal, "end child")


def test_a_log_past_its_limit_is_moved_aside_under_its_writer(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "child.log")
    descriptor = log.open()
    os.truncate(log.path, LIMIT_BYTES + 1)
    log.trim()
    os.write(descriptor, b"after\n")
    os.close(descriptor)
    assert log.path.read_text() == "after\n"
    assert log.path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "child.log.1").stat().st_size == LIMIT_BYTES + 1


def wait_for(journal: Path, text: str) -> None:
    deadline = time.monotonic() + 20
    while text not in journal.read_text():
        assert time.monotonic() < deadline, f"no {text!r} in time"
        time.sleep(0.02)

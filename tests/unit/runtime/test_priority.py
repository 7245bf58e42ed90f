"""Stepping back: seen from a process that does it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import os
from quire.runtime.priority import step_back
step_back({niceness})
print(os.getpriority(os.PRIO_PROCESS, 0))
"""


def niceness_after(niceness: int) -> int:
    script = SCRIPT.format(niceness=niceness)
    return int(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout)


@pytest.mark.parametrize("niceness", [3, 7])
def test_a_process_steps_back_by_what_it_is_told(niceness: int) -> None:
    assert niceness_after(niceness) - niceness_after(0) == niceness


BRINGS_A_CHILD = """
import os
import subprocess
import time
from pathlib import Path
from quire.runtime.priority import keep_back, step_back
step_back({niceness})
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
weight = Path(f"/proc/{{child.pid}}/autogroup")
for _ in range(50):
    # Who is not root may change only so many a second, together with everyone else.
    keep_back(child.pid)
    if weight.read_text().endswith(f" {{os.getpriority(os.PRIO_PROCESS, 0)}}\\n"):
        break
    time.sleep(0.1)
print(weight.read_text(), os.getpriority(os.PRIO_PROCESS, 0))
child.kill()
"""


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel does not weigh sessions")
@pytest.mark.parametrize("niceness", [0, 4])
def test_a_child_in_a_session_of_its_own_stays_behind_too(niceness: int) -> None:
    script = BRINGS_A_CHILD.format(niceness=niceness)
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    *_, session, process = run.stdout.split()
    assert session == process == str(niceness_after(niceness))

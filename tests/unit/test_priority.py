"""Stepping back: seen from a process that does it."""

from __future__ import annotations

import subprocess
import sys

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

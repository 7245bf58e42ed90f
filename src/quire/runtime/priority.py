"""A process that does bulk work steps back behind those that answer people.

Sessions are weighed against each other and processes inside one: where the kernel does both, both step back.
Refusal is no harm: nobody may gain by it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def step_back(niceness: int) -> None:
    """Its children inherit it, as long as they stay in its session."""
    if niceness <= 0:
        return
    with contextlib.suppress(OSError):
        os.nice(niceness)
    _weigh_session("self", niceness)


def keep_back(child: int) -> None:
    """For a child in a session of its own: sessions begin at the front, whatever their processes' niceness."""
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    if niceness > 0:
        _weigh_session(str(child), niceness)


def _weigh_session(pid: str, niceness: int) -> None:
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(niceness))

"""A process that does bulk work steps back behind those that answer people."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

AUTOGROUP = Path("/proc/self/autogroup")


def step_back(niceness: int) -> None:
    """Sessions are weighed against each other and processes inside one: where the kernel does both, both step back.
    Its children inherit both. Refusal is no harm: nobody may gain by it."""
    if niceness <= 0:
        return
    with contextlib.suppress(OSError):
        os.nice(niceness)
    with contextlib.suppress(OSError):
        AUTOGROUP.write_text(str(niceness))

"""Makes this process believe that its host's clock jumped: SIGUSR1 a day ahead, SIGUSR2 two days back.

It replaces what Python code reads (`time.time`, `time.time_ns`); that the engine reads the host's clock in no
other way is checked by the test that uses this.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from types import FrameType

DAY_SECONDS = 86_400
_JUMPS = {signal.SIGUSR1: DAY_SECONDS, signal.SIGUSR2: -2 * DAY_SECONDS}


def shift_clock_on_signals() -> None:
    real_time, real_time_ns = time.time, time.time_ns
    shift_seconds = 0

    def jump(number: int, _frame: FrameType | None) -> None:
        nonlocal shift_seconds
        shift_seconds += _JUMPS[signal.Signals(number)]
        line = {"event": "clock_jumped", "now": time.time()}
        os.write(sys.stdout.fileno(), (json.dumps(line) + "\n").encode())

    time.time = lambda: real_time() + shift_seconds
    time.time_ns = lambda: real_time_ns() + shift_seconds * 1_000_000_000
    for number in _JUMPS:
        signal.signal(number, jump)

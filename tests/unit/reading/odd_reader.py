"""What children of a jail run that do what no reader should; run there, `act` says which."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from typing import Any

from quire.reading.infrastructure.jail.cell import FILES_MAX

FOR_EVER_SECONDS = 600
# More than an answer keeps in memory, so that it has a file.
MUCH_BYTES = 9 * 1024 * 1024


def warm_up() -> None:
    """There is nothing to load."""


def task(content: Any, size_bytes: int, arguments: dict[str, Any]) -> bytes:
    return ACTS[arguments["act"]](bytes(content))


def give_back(content: bytes) -> bytes:
    return content


def sleep(content: bytes) -> bytes:
    time.sleep(FOR_EVER_SECONDS)
    return content


def speak_and_stay(content: bytes) -> bytes:
    """Deaf to the alarm; and past the cell, which would write only once all is done."""
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    rest = memoryview(bytes(MUCH_BYTES))
    answer = next(filter(takes_header, reversed(range(FILES_MAX))))
    while rest:
        rest = rest[os.write(answer, rest) :]
    return sleep(content)


def takes_header(file: int) -> bool:
    """Of the files that a child has, the answer is the last that can be written to."""
    try:
        return os.write(file, b"{}\n") > 0
    except OSError:
        return False


def touch_nothing(content: bytes) -> bytes:
    """At address nought there is no memory."""
    return ctypes.string_at(0)


def fail(content: bytes) -> bytes:
    raise ZeroDivisionError(content.decode())


ACTS = {act.__name__: act for act in (give_back, sleep, speak_and_stay, touch_nothing, fail)}

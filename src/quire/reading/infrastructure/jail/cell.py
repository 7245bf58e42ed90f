"""One child and one document: takes its limits, shuts the door behind itself, works, answers, ends.

The answer is one line of JSON, then the bytes it announces.
"""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from quire.kernel import QuireError
from quire.runtime import seccomp
from quire.runtime.isolation import SET_DEATH_SIGNAL, limit

FILES_MAX = 16
DETAIL_LENGTH = 300


def work(
    task: Callable[[Any, int, dict[str, Any]], bytes], request: dict[str, Any], document: int, answer: int
) -> None:
    # The process ends with its document: whatever a collection would find is freed then, all at once.
    gc.disable()
    content, size_bytes = _mapped(document)
    _take_limits(request)
    seccomp.confine()
    _write(answer, *_outcome(task, content, size_bytes, request["arguments"]))
    os._exit(0)


def _outcome(
    task: Callable[[Any, int, dict[str, Any]], bytes],
    content: Any,
    size_bytes: int,
    arguments: dict[str, Any],
) -> tuple[dict[str, Any], bytes]:
    try:
        body = task(content, size_bytes, arguments)
    except QuireError as error:
        return {"error": error.code, "detail": error.detail[:DETAIL_LENGTH]}, b""
    except (MemoryError, RecursionError) as error:
        return {"error": type(error).__name__}, b""
    except Exception as error:
        return {"error": "CRASH", "detail": f"{type(error).__name__}: {error}"[:DETAIL_LENGTH]}, b""
    return {"size": len(body)}, body


def _mapped(document: int) -> tuple[Any, int]:
    size_bytes = os.fstat(document).st_size
    if size_bytes == 0:
        return b"", 0
    # Its own copy as far as it writes, which nobody does; but only what could be written has an address to give.
    return mmap.mmap(document, size_bytes, access=mmap.ACCESS_COPY), size_bytes


def _take_limits(request: dict[str, Any]) -> None:
    ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # What is mapped by now is the server's; the document may add to that.
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    limit(resource.RLIMIT_AS, mapped + request["memory_bytes"])
    limit(resource.RLIMIT_CPU, request["cpu_seconds"], request["cpu_seconds"] + 1)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, 0)
    limit(resource.RLIMIT_NOFILE, FILES_MAX)
    # Without a handler the alarm ends the process, and the filter leaves no call that would turn it off; a child that
    # was made to ignore it is ended from outside, a little later.
    signal.setitimer(signal.ITIMER_REAL, request["wall_seconds"])


def _write(answer: int, header: dict[str, Any], body: bytes) -> None:
    for part in (json.dumps(header).encode() + b"\n", body):
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(answer, rest) :]

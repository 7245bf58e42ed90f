"""What a process that reads what strangers wrote cannot do once its door is shut."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from quire.runtime import seccomp

PROBE = """
import json, mmap, os, signal, socket, sys
from quire.runtime import seccomp

def attempt(action):
    try:
        action()
    except OSError as error:
        return "refused" if error.errno == 1 else str(error)
    return "done"

held = os.open("/dev/null", os.O_RDONLY)
seccomp.confine()
print(json.dumps({
    "open": attempt(lambda: open("/etc/passwd")),
    "create": attempt(lambda: os.open("/tmp/x", os.O_CREAT | os.O_WRONLY)),
    "socket": attempt(lambda: socket.socket()),
    "fork": attempt(os.fork),
    "run": attempt(lambda: os.execv("/bin/true", ["true"])),
    "signal": attempt(lambda: os.kill(os.getppid(), 0)),
    "timer": attempt(lambda: signal.setitimer(signal.ITIMER_REAL, 0)),
    "code": attempt(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)),
    "memory": attempt(lambda: mmap.mmap(-1, 1 << 20)),
    "read": attempt(lambda: os.read(held, 1)),
    "sums": attempt(lambda: bytearray(50_000_000)),
}), flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not seccomp.is_available(), reason="the numbers of this machine's calls are not known")
def test_a_confined_process_can_compute_and_nothing_else() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=60, check=True
    )
    can = {name for name, outcome in json.loads(done.stdout).items() if outcome == "done"}
    refused = {name for name, outcome in json.loads(done.stdout).items() if outcome == "refused"}
    assert can == {"memory", "read", "sums"}
    assert refused == {"open", "create", "socket", "fork", "run", "signal", "timer", "code"}

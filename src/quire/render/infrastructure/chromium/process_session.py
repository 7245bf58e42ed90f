"""The processes of one browser as the kernel sees them: who they are, what they hold, how they are shut in."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SECCOMP_FILTER = 2
CONFINING = ("user", "pid", "net")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


@dataclass(frozen=True, slots=True)
class ProcessSession:
    """The driver starts the browser as leader of a session, and nothing the browser starts leaves it."""

    leader: int

    def members(self) -> list[int]:
        return [pid for pid in _all_processes() if _session_of(pid) == self.leader]

    def renderers(self) -> list[int]:
        return [pid for pid in self.members() if b"--type=renderer" in _read(pid, "cmdline")]

    def driver(self) -> int:
        return int(_status(self.leader)["PPid"])

    def exceeds(self, limit_bytes: int) -> bool:
        """Resident size counts shared pages many times and is cheap; only when it is past the limit are the
        proportional sizes worth their price."""
        members = self.members()
        return (
            sum(map(_resident_bytes, members)) > limit_bytes
            and sum(map(_proportional_bytes, members)) > limit_bytes
        )

    def memory_bytes(self) -> int:
        return sum(map(_proportional_bytes, self.members()))

    def is_isolated(self) -> bool:
        """Foreign network, no rights, and every renderer behind its own filter and namespaces."""
        return (
            _status(self.leader)["CapEff"].strip("0") == ""
            and _namespace(self.leader, "net") != _namespace(os.getpid(), "net")
            and all(self._is_confined(pid) for pid in self.renderers())
        )

    def _is_confined(self, pid: int) -> bool:
        """Also one that went while it was looked at."""
        try:
            status = _status(pid)
            apart = [_namespace(pid, kind) != _namespace(self.leader, kind) for kind in CONFINING]
        except _GONE:
            return not is_running(pid)
        filtered = int(status["Seccomp"]) == SECCOMP_FILTER
        return filtered and status["CapEff"].strip("0") == "" and all(apart)

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.leader, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Asked several times a document: a signal that is not sent costs a tenth of a look into /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except _GONE:
        return b""


def _session_of(pid: int) -> int:
    # The name, in brackets, may hold spaces and brackets: fields are counted from its end.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[3]) if fields else 0


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _namespace(pid: int, kind: str) -> Path:
    return Path(f"/proc/{pid}/ns/{kind}").readlink()


def _resident_bytes(pid: int) -> int:
    fields = _read(pid, "statm").split()
    return int(fields[1]) * PAGE_BYTES if fields else 0


def _proportional_bytes(pid: int) -> int:
    for line in _read(pid, "smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    return 0

"""Reads `postmaster.pid` and decides, from the kernel's own tables, who really runs on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# Names the cluster on the server's command line, which is readable where its working directory is not.
CLUSTER_MARK = "quire.cluster"


@dataclass(frozen=True)
class PostmasterFile:
    pid: int
    port: int
    shared_memory_id: int | None
    is_ready: bool


def read_postmaster_file(cluster: Path) -> PostmasterFile | None:
    """None while the file is absent or half written (the server writes it in steps)."""
    try:
        lines = (cluster / "postmaster.pid").read_text(errors="replace").splitlines()
        pid, port = int(lines[0]), int(lines[3])
    except (FileNotFoundError, ValueError, IndexError):
        return None
    memory = lines[6].split() if len(lines) > 6 else []
    return PostmasterFile(
        # A standalone backend writes its pid negated.
        pid=abs(pid),
        port=port,
        shared_memory_id=int(memory[1]) if len(memory) == 2 and memory[1].isdigit() else None,
        is_ready=len(lines) > 7 and lines[7].strip() == "ready",
    )


def is_postmaster_of(pid: int, cluster: Path) -> bool:
    """The pid may have been reused since the file was written; the command line names the cluster."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"{CLUSTER_MARK}={cluster}".encode() in arguments


def has_attached_backends(shared_memory_id: int | None) -> bool:
    """Backends outlive a killed postmaster for a moment, and a second server beside them would corrupt data.

    Postgres itself uses the attach count of this segment as its interlock.
    """
    if shared_memory_id is None:
        return False
    try:
        rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    except OSError:
        return False
    fields = (row.split() for row in rows)
    return any(int(field[1]) == shared_memory_id and int(field[6]) > 0 for field in fields)


def attached_backends(shared_memory_id: int | None) -> list[int]:
    """Those that have the segment mapped, by the kernel's word: a backend's command line names no cluster. Processes
    that we may not look into are somebody else's."""
    if shared_memory_id is None:
        return []
    entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [int(entry.name) for entry in entries if _maps(entry, shared_memory_id)]


def _maps(process: Path, shared_memory_id: int) -> bool:
    """The number of a System V segment stands where a file's inode does."""
    try:
        lines = (process / "maps").read_text(errors="replace").splitlines()
    except OSError:
        return False
    return any("/SYSV" in line and line.split()[4] == str(shared_memory_id) for line in lines)

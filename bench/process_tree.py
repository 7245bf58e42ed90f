"""Processes as the kernel tells of them: who descends from whom, and what each one holds."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def descendants(pid: int) -> list[int]:
    children = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children[_parent(entry)].append(int(entry.name))
    found = list(children[pid])
    for one in found:
        found += children[one]
    return found


def proportional_bytes(pid: int) -> int:
    """Memory shared by n processes counts as an n-th part in each, so a sum over a tree is true."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except GONE:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def _parent(process: Path) -> int:
    try:
        # The name, in brackets, may hold spaces and brackets: fields are counted from its end.
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except GONE:
        return 0

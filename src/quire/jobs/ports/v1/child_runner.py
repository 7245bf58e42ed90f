"""Processes of an attempt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from quire.jobs.ports.v1.handler import ChildExit


class ChildRunner(Protocol):
    async def run(self, argv: Sequence[str], *, stdin: bytes, env: Mapping[str, str] | None) -> ChildExit:
        """SHALL run the command in a process group of its own. When the caller is cancelled, or this process dies,
        the whole group SHALL be killed. Output is bounded."""
        ...

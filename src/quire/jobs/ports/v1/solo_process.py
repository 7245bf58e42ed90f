"""A worker process beside this one that runs suspects and nothing else."""

from __future__ import annotations

from typing import Protocol


class SoloProcess(Protocol):
    async def run(self) -> int:
        """SHALL start the process, if it was not told to stop, and return its exit code once it has ended (negative:
        the signal that killed it). It has a worker id and leases of its own, and SHALL outlive neither its starter's
        order to stop nor, beyond the grace for what it runs, its starter."""
        ...

    def stop(self) -> None:
        """First call: it finishes what it runs. Second call: it hands that back now. Nothing is started any more."""
        ...

    async def close(self, timeout_seconds: float) -> None:
        """SHALL leave no process behind: one that is still there after so long is killed."""
        ...

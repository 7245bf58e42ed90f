"""Who wakes workers. A message carries a job id or nothing; the database alone decides who owns a job, so a broker
may lose, repeat or delay messages and no work is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol
from uuid import UUID

# What a process may be told: there is work, something ended, someone asked to cancel.
WORK = "work"
ENDED = "ended"
CANCEL = "cancel"


class Broker(Protocol):
    required: bool

    async def ping(self) -> None:
        """SHALL raise an UnavailableError when messages cannot be sent now."""
        ...

    def announce(self, topic: str, job_ids: Sequence[UUID] = ()) -> None:
        """SHALL return at once. MAY merge announcements; SHALL send at least one after the last of them.
        Called after commit only."""
        ...

    def subscribe(self, topic: str, wake: Callable[[], None]) -> None:
        """`wake` is called on this process's event loop. MAY be called without cause; SHALL be called once after
        a lost connection came back, since messages may have passed by."""
        ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...

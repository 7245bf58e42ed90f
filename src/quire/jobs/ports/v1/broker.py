"""Who wakes workers. A message names a job or nothing; the database alone decides who owns a job, so a broker
may lose, repeat or delay messages and no work is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol
from uuid import UUID

from quire.jobs.domain.job import Submission

# What a process may be told: there is work, something ended, someone asked to cancel.
WORK = "work"
ENDED = "ended"
CANCEL = "cancel"


class Broker(Protocol):
    required: bool
    """Whether work is refused while messages cannot be sent."""

    async def ping(self) -> None:
        """SHALL raise an UnavailableError when messages cannot be sent now."""
        ...

    def announce(self, topic: str, jobs: Sequence[Submission] = ()) -> None:
        """SHALL return at once. MAY merge announcements; SHALL send at least one after the last of them.
        Called after commit only. `jobs`: which ones may run now, where that is known."""
        ...

    def subscribe(self, topic: str, wake: Callable[[], None]) -> None:
        """`wake` is called on this process's event loop. MAY be called without cause; SHALL be called once after
        a lost connection came back, since messages may have passed by."""
        ...

    def serve(self, queues: Sequence[str]) -> None:
        """Messages about jobs of these queues are for this process, too. Called before `start`."""
        ...

    def take(self, room: int) -> list[UUID]:
        """The jobs that messages named since the last call, at most `room`. SHALL leave further messages to other
        processes once `room` of them wait here. MAY be empty for ever: then a wake means any job."""
        ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...

"""Jobs that could run and that nobody has claimed: what messages are owed for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quire.jobs.ports.v1.messenger import Message


class Outbox(Protocol):
    async def owed(self, queues: Sequence[str], waited_seconds: float, limit: int) -> Sequence[Message]:
        """SHALL name the most urgent `limit` jobs of each queue that have been due for so long, and none of a paused
        queue. A job is owed a message from the commit that accepts it to the commit that claims it."""
        ...

"""Named jobs on their way from receiving threads to the worker's event loop. Holds no more than the worker has room
for, so that a busy worker leaves messages to the others."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from uuid import UUID

from quire.jobs.application.brokers import broker_metrics
from quire.jobs.ports.v1.messenger import Message
from quire.runtime.telemetry import start_span


class Inbox:
    def __init__(self) -> None:
        self._job_ids: deque[UUID] = deque()
        self._room = 0
        self._open = True
        self._changed = threading.Condition()
        self._wake: Callable[[], None] | None = None

    def on_arrival(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        """`wake` is called on the loop when the first of some messages has come."""
        self._wake = lambda: _call(loop, wake)

    def offer(self, message: Message, timeout_seconds: float | None = None) -> bool:
        with self._changed:
            self._changed.wait_for(self._takes_more, timeout_seconds)
            if not self._takes_more() or not self._open:
                broker_metrics.RECEIVED.labels("turned_away").inc()
                return False
            self._job_ids.append(message.job_id)
            first = len(self._job_ids) == 1
        broker_metrics.RECEIVED.labels("accepted").inc()
        if message.traceparent is not None:
            with start_span("broker.receive", message.traceparent, {"job_id": str(message.job_id)}):
                pass
        if first and self._wake is not None:
            self._wake()
        return True

    def await_room(self, timeout_seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(self._takes_more, timeout_seconds) and self._open

    def take(self, room: int) -> list[UUID]:
        with self._changed:
            taken = [self._job_ids.popleft() for _ in range(min(room, len(self._job_ids)))]
            self._room = room - len(taken)
            self._changed.notify_all()
        return taken

    def close(self) -> None:
        """What was offered and not taken stays unclaimed in the database, where others find it."""
        with self._changed:
            self._open = False
            self._changed.notify_all()

    def _takes_more(self) -> bool:
        """Also true when closed: nobody should go on waiting."""
        return len(self._job_ids) < self._room or not self._open


def _call(loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(wake)
    except RuntimeError:
        # The loop has closed: this worker takes no more work.
        return

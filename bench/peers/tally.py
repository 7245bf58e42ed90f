"""What a worker's no-op handler leaves behind: which numbers, when, and how long each waited."""

from __future__ import annotations

import threading
import time


class Tally:
    """Appends only, so threads need no lock. CLOCK_MONOTONIC is one clock for all processes of a host."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.waits: list[float] = []
        self.begun_at = 0.0
        self.last_at = 0.0
        self._target = 1 << 62
        self._reached = threading.Event()

    def note(self, number: int, sent_at: int) -> None:
        """`sent_at` is CLOCK_MONOTONIC in nanoseconds, taken just before the enqueue."""
        now_ns = time.monotonic_ns()
        now = now_ns / 1e9
        if not self.begun_at:
            self.begun_at = now
        self.waits.append((now_ns - sent_at) / 1e9)
        self.numbers.append(number)
        self.last_at = now
        if len(self.numbers) >= self._target:
            self._reached.set()

    def begin(self) -> None:
        """The first claim is asked for. Without this call the first handler begins the clock.

        An engine that claims 1,000 jobs at once would otherwise get its first claim for nothing.
        """
        if not self.begun_at:
            self.begun_at = time.monotonic()

    def await_count(self, count: int, timeout_seconds: float) -> dict[str, float]:
        """Blocks until `count` jobs were handled or the time is over; says how many were, and when."""
        self._reached.clear()
        self._target = count
        if len(self.numbers) < count:
            self._reached.wait(timeout_seconds)
        return {
            "count": len(self.numbers),
            "begun_at": self.begun_at,
            "last_at": self.last_at,
            "now": time.monotonic(),
        }

    def forget(self) -> None:
        self.numbers.clear()
        self.waits.clear()

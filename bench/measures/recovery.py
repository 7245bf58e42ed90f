"""Recovery: kill -9 a worker with 50 running jobs; seconds until another worker has finished them all."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter

from bench.arena import Arena, Contestant

JOBS = 50


@dataclasses.dataclass(frozen=True)
class Recovery:
    seconds: float
    lost: int
    doubled: int


def recover(arena: Arena, contestant: Contestant, lease_seconds: float, patience_seconds: float) -> Recovery:
    """The doomed worker's handlers never return; its heir starts before the kill and has no-op handlers."""
    with (
        arena.producer(contestant) as producer,
        arena.process(contestant, "work", hold=True, lease=lease_seconds) as doomed,
    ):
        producer.ask("batches", count=JOBS)
        held = doomed.ask("await", count=JOBS, timeout=patience_seconds)["count"]
        if held != JOBS:
            raise RuntimeError(f"{contestant.name}: only {held} of {JOBS} jobs were running before the kill")
        with arena.process(contestant, "work", lease=lease_seconds) as heir:
            # The heir is up when it handles a job of its own.
            producer.ask("sequential", start=JOBS, count=1)
            heir.ask("await", count=1, timeout=patience_seconds)
            killed_at = time.monotonic()
            doomed.crash()
            seen = heir.ask("await", count=JOBS + 1, timeout=patience_seconds)
            finished = producer.ask("await_finished", timeout=patience_seconds)
            numbers = Counter(heir.ask("waits")["numbers"])
    return Recovery(
        seconds=(finished["at"] or seen["last_at"]) - killed_at,
        lost=sum(number not in numbers for number in range(JOBS)),
        doubled=sum(times - 1 for times in numbers.values()),
    )

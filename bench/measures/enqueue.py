"""Enqueues a second: one by one, from 50 callers of one process, and in batches of 1,000."""

from __future__ import annotations

from bench.arena import Arena, Contestant

CALLERS = 50
MODES = ("sequential", "concurrent", "batches")


def enqueues_per_second(arena: Arena, contestant: Contestant, mode: str, jobs: int) -> float:
    """A few jobs first, so that connections and prepared statements are there."""
    with arena.producer(contestant) as producer:
        producer.ask(mode, start=0, count=CALLERS, callers=CALLERS)
        return float(jobs / producer.ask(mode, start=CALLERS, count=jobs, callers=CALLERS)["seconds"])

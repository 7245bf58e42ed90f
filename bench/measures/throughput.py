"""No-op jobs a second: a full store, one worker process, until the store itself holds nothing unfinished."""

from __future__ import annotations

from bench.arena import Arena, Contestant
from bench.engine_process import EngineProcess

START_SECONDS = 30.0


def jobs_per_second(arena: Arena, contestant: Contestant, jobs: int, window_seconds: float) -> float:
    with arena.producer(contestant) as producer:
        producer.ask("batches", count=jobs)
        return drain(arena, contestant, producer, jobs, window_seconds)


def drain(
    arena: Arena, contestant: Contestant, producer: EngineProcess, jobs: int, window_seconds: float
) -> float:
    """A slow engine is stopped when the window closes; what it handled until then counts."""
    with arena.process(contestant, "work") as worker:
        worker.ask("await", count=1, timeout=START_SECONDS)
        seen = worker.ask("await", count=jobs, timeout=window_seconds)
        if seen["count"] < jobs:
            return float(seen["count"] / (seen["now"] - seen["begun_at"]))
        finished = producer.ask("await_finished", timeout=START_SECONDS)
        return float(jobs / ((finished["at"] or seen["last_at"]) - seen["begun_at"]))

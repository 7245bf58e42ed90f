"""Idle pickup: milliseconds from the enqueue call to the start of the handler, one job at a time."""

from __future__ import annotations

from bench.arena import Arena, Contestant

WARM_UP = 10
PAUSE_SECONDS = 0.03
TIMEOUT_SECONDS = 30.0


def waits_ms(arena: Arena, contestant: Contestant, samples: int) -> list[float]:
    with arena.producer(contestant) as producer, arena.process(contestant, "work") as worker:
        producer.ask("paced", start=0, count=WARM_UP, pause=PAUSE_SECONDS)
        worker.ask("await", count=WARM_UP, timeout=TIMEOUT_SECONDS)
        worker.ask("forget")
        producer.ask("paced", start=WARM_UP, count=samples, pause=PAUSE_SECONDS)
        worker.ask("await", count=samples, timeout=TIMEOUT_SECONDS)
        return [wait * 1000 for wait in worker.ask("waits")["waits"]]


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

"""Idle pickup: milliseconds from the enqueue call to the start of the handler, one job at a time."""

from __future__ import annotations

from bench.arena import OURS, Arena, Contestant
from bench.field import Field
from bench.report import Row

WARM_UP = 10
# Long enough for the slowest of them to be idle again.
PAUSE_SECONDS = 0.05
TIMEOUT_SECONDS = 30.0
P99_BAR_MS = 25.0


def rows(field: Field) -> list[Row]:
    waits: dict[str, list[float]] = {one.name: [] for one in field.contestants}
    for one in field.turns():
        waits[one.name] += waits_ms(field.arena, one, field.scale.samples)
    p50 = {name: quantile(values, 0.5) for name, values in waits.items()}
    p99 = {name: quantile(values, 0.99) for name, values in waits.items()}
    best = min((name for name in p50 if name != OURS), key=p50.__getitem__)
    bars = {best: 1.0}
    return [
        *quantile_rows("idle pickup p50, ms", p50, bars),
        Row("idle pickup p99, ms", p99[OURS], "bar of 25 ms", P99_BAR_MS, 1.0, lower_is_better=True),
        *quantile_rows("idle pickup p99, ms", p99, {}),
    ]


def quantile_rows(measure: str, values: dict[str, float], bars: dict[str, float]) -> list[Row]:
    return [
        Row(measure, values[OURS], name, value, bars.get(name), lower_is_better=True)
        for name, value in values.items()
        if name != OURS
    ]


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

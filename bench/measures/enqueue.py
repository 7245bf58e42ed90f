"""Enqueues a second: one by one, from 50 callers of one process, and in batches of 1,000."""

from __future__ import annotations

import statistics

from bench.arena import OURS, Arena, Contestant
from bench.field import Field, against_all
from bench.report import Row

CALLERS = 50
MODES = ("sequential", "concurrent", "batches")
# Ahead of those that are as durable by nature; Dramatiq pays for its Redis' syncing, not for dedupe.
BARS = {"procrastinate": 1.0, "PgQueuer": 1.0, "Dramatiq/Redis": 0.8}


def rows(field: Field) -> list[Row]:
    scale = field.scale
    jobs = {"sequential": scale.enqueues, "concurrent": 2 * scale.enqueues, "batches": scale.jobs}
    seen: dict[str, list[dict[str, float]]] = {one.name: [] for one in field.contestants}
    for one in field.turns():
        seen[one.name].append(enqueues_per_second(field.arena, one, jobs))
    rates = {
        mode: {name: statistics.median(rate[mode] for rate in rounds) for name, rounds in seen.items()}
        for mode in MODES
    }
    return [
        *single_rows("enqueues/s, one by one", rates["sequential"]),
        *single_rows(f"enqueues/s, {CALLERS} callers", rates["concurrent"]),
        *against_all("enqueues/s, batches of 1,000", rates["batches"], bar_against_best=3.0),
    ]


def single_rows(measure: str, rates: dict[str, float]) -> list[Row]:
    return [
        Row(measure, rates[OURS], name, rate, BARS.get(name)) for name, rate in rates.items() if name != OURS
    ]


def enqueues_per_second(arena: Arena, contestant: Contestant, jobs: dict[str, int]) -> dict[str, float]:
    """`jobs` a mode. A few go first in each, so that connections and prepared statements are there."""
    rates, first = {}, 0
    with arena.producer(contestant) as producer:
        for mode in MODES:
            producer.ask(mode, start=first, count=CALLERS, callers=CALLERS)
            first += CALLERS
            taken = producer.ask(mode, start=first, count=jobs[mode], callers=CALLERS)["seconds"]
            first += jobs[mode]
            rates[mode] = jobs[mode] / taken
    return rates

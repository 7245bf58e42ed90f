"""No-op jobs a second: a full store, one worker process, until the store itself holds nothing unfinished."""

from __future__ import annotations

import dataclasses

from bench.arena import OURS, Arena, Contestant
from bench.engine_process import EngineProcess
from bench.field import Field, against_all
from bench.report import Row

START_SECONDS = 30.0
TRY_SECONDS = 2.0
MEASURE = "no-op jobs/s"


def rows(field: Field) -> list[Row]:
    scale = field.scale
    rates = field.medians(lambda one: jobs_per_second(field.arena, one, scale.jobs, scale.window_seconds))
    found = against_all(MEASURE, rates, bar_against_best=3.0)
    for rq in field.named("RQ/Redis"):
        forking = rq.with_options(forking=True)
        forked = jobs_per_second(field.arena, forking, scale.jobs // 10, scale.window_seconds / 2)
        found.append(
            Row(MEASURE, rates[OURS], "RQ/Redis, forking", forked, note="its default, for information")
        )
    return found


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


def tuned(field: Field) -> Field:
    """Everyone runs with the best of its settings on this machine, found by trying them."""
    return dataclasses.replace(field, contestants=[best_of(field, one) for one in field.contestants])


def best_of(field: Field, contestant: Contestant) -> Contestant:
    tried = {}
    for options in contestant.tries:
        candidate = contestant.with_options(**options)
        tried[jobs_per_second(field.arena, candidate, field.scale.jobs, TRY_SECONDS)] = candidate
    if not tried:
        return contestant
    seen = ", ".join(f"{one.options} {rate:,.0f}/s" for rate, one in sorted(tried.items()))
    print(f"settings of {contestant.name}: {seen}", flush=True)
    return tried[max(tried)]

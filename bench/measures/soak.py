"""Soak at a steady rate: what a job leaves behind as dead tuples, row versions and bytes of WAL."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

from bench.arena import OURS, Arena, Contestant, database_name
from bench.field import Field
from bench.report import Row

# Of all user tables of the engine's own database; autovacuum is as each engine sets it.
TUPLES = """
SELECT coalesce(sum(n_dead_tup), 0)::float8 AS dead,
       coalesce(sum(n_tup_upd + n_tup_del), 0)::float8 AS versions
FROM pg_stat_user_tables
"""
WARM_UP = 20
JOBS_PER_SECOND = 200.0
PEERS = ("procrastinate", "PgQueuer")
# A backend reports what it did to the statistics at most this late.
STATISTICS_SECONDS = 1.5


@dataclasses.dataclass(frozen=True)
class Soak:
    dead_tuples: float
    versions_per_job: float
    wal_bytes_per_job: float


# The bars are for what must be vacuumed and what must be written; row versions say how it comes about.
FIGURES: dict[str, tuple[Callable[[Soak], float], bool]] = {
    "dead tuples at the end": (lambda one: one.dead_tuples, True),
    "row versions ended a job": (lambda one: one.versions_per_job, False),
    "WAL bytes a job": (lambda one: one.wal_bytes_per_job, True),
}


def rows(field: Field) -> list[Row]:
    arena, seconds = field.arena, field.scale.soak_seconds
    peers = PEERS if field.scale.all_peers else PEERS[:1]
    found = {one.name: soak(arena, one, JOBS_PER_SECOND, seconds) for one in field.named(OURS, *peers)}
    return [
        Row(
            f"soak {measure}",
            figure(found[OURS]),
            peer,
            figure(found[peer]),
            1.0 if barred and peer == "procrastinate" else None,
            lower_is_better=True,
        )
        for measure, (figure, barred) in FIGURES.items()
        for peer in PEERS
        if peer in found
    ]


def soak(arena: Arena, contestant: Contestant, jobs_per_second: float, seconds: float) -> Soak:
    jobs = int(jobs_per_second * seconds)
    with arena.producer(contestant) as producer, arena.process(contestant, "work") as worker:
        producer.ask("sequential", start=0, count=WARM_UP)
        worker.ask("await", count=WARM_UP, timeout=30)
        arena.execute("CHECKPOINT")
        before, wal_before = tuples(arena, contestant), wal_position(arena)
        producer.ask("paced", start=WARM_UP, count=jobs, pause=1 / jobs_per_second)
        worker.ask("await", count=WARM_UP + jobs, timeout=60)
        producer.ask("await_finished", timeout=30)
        wal_after = wal_position(arena)
        time.sleep(STATISTICS_SECONDS)
        after = tuples(arena, contestant)
    return Soak(
        dead_tuples=after["dead"],
        versions_per_job=(after["versions"] - before["versions"]) / jobs,
        wal_bytes_per_job=(wal_after - wal_before) / jobs,
    )


def tuples(arena: Arena, contestant: Contestant) -> dict[str, float]:
    return dict(arena.execute(TUPLES, database_name(contestant))[0])


def wal_position(arena: Arena) -> float:
    return float(arena.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes")[0]["bytes"])

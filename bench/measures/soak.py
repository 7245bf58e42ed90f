"""Soak at a steady rate: what a job leaves behind as dead tuples, row versions and bytes of WAL."""

from __future__ import annotations

import dataclasses

from bench.arena import Arena, Contestant, database_name

# Of all user tables of the engine's own database; autovacuum is as each engine sets it.
TUPLES = """
SELECT coalesce(sum(n_dead_tup), 0)::float8 AS dead,
       coalesce(sum(n_tup_upd + n_tup_del), 0)::float8 AS versions
FROM pg_stat_user_tables
"""
WARM_UP = 20


@dataclasses.dataclass(frozen=True)
class Soak:
    dead_tuples: float
    versions_per_job: float
    wal_bytes_per_job: float


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
        after, wal_after = tuples(arena, contestant), wal_position(arena)
    return Soak(
        dead_tuples=after["dead"],
        versions_per_job=(after["versions"] - before["versions"]) / jobs,
        wal_bytes_per_job=(wal_after - wal_before) / jobs,
    )


def tuples(arena: Arena, contestant: Contestant) -> dict[str, float]:
    return dict(arena.execute(TUPLES, database_name(contestant))[0])


def wal_position(arena: Arena) -> float:
    return float(arena.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes")[0]["bytes"])

"""Flatness: our jobs a second on a table full of finished jobs, beside an empty one."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
from collections.abc import Iterator

from bench.arena import Arena, Contestant, database_name
from bench.engine_process import EngineProcess
from bench.field import Field
from bench.measures.throughput import drain, jobs_per_second
from bench.quire_runner import QUEUE
from bench.report import Row

# A finished job as the engine leaves it, with its three lines of history.
FINISHED_JOBS = """
INSERT INTO jobs (id, state, kind, queue, priority, tenant_id, created_by, payload, job_key, fence, attempt,
                  created_at, updated_at, run_at, started_at, finished_at, expires_at)
SELECT uuidv7(), 'succeeded', 'jobs.noop', '{queue}', 0, 'bench', 'bench', '{{"number": 1}}',
       sha256(int8send(number)), 1, 1, at, at, at, at, at, at + interval '30 days'
FROM (SELECT number, now() - make_interval(secs => ({rows} - number) / 50.0) AS at
      FROM generate_series(1::bigint, {rows}) AS number) AS past
"""
FINISHED_EVENTS = """
INSERT INTO job_events (job_id, at, attempt, fence, from_state, to_state, actor)
SELECT id, created_at, least(step, 1), least(step, 1), (ARRAY[NULL, 'queued', 'running'])[step + 1],
       (ARRAY['queued', 'running', 'succeeded'])[step + 1], 'bench'
FROM jobs CROSS JOIN generate_series(0, 2) AS step
"""


def rows(field: Field) -> list[Row]:
    scale = field.scale
    empty: list[float] = []
    full: list[float] = []
    with full_table(field.arena, field.ours, scale.finished_rows) as (crowded, producer):
        for number in range(scale.rounds):
            empty.append(jobs_per_second(field.arena, field.ours, scale.jobs, scale.window_seconds))
            producer.ask("batches", start=number * scale.jobs, count=scale.jobs)
            full.append(drain(field.arena, crowded, producer, scale.jobs, scale.window_seconds))
    measure = f"flatness: jobs/s, {scale.finished_rows:,} finished rows"
    return [Row(measure, statistics.median(full), "quire, empty table", statistics.median(empty), 0.9)]


@contextlib.contextmanager
def full_table(arena: Arena, contestant: Contestant, rows: int) -> Iterator[tuple[Contestant, EngineProcess]]:
    """A store of its own under another name, kept for all rounds because filling it takes long."""
    full = dataclasses.replace(contestant, name=f"{contestant.name} full")
    with arena.producer(full) as producer:
        for statement in (FINISHED_JOBS.format(rows=rows, queue=QUEUE), FINISHED_EVENTS):
            arena.execute(statement, database_name(full))
        arena.execute("VACUUM ANALYZE", database_name(full))
        # The pages that the filling made are written now, not under the eyes of the clock.
        arena.execute("CHECKPOINT")
        yield full, producer

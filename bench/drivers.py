"""asyncpg beside psycopg 3 on the engine's own claim and completion: the measurement behind decision 0002."""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
from pathlib import Path

import asyncpg

from bench.peer_env import REPOSITORY, peer_python
from bench.report import Row, publish
from bench.servers import end_on_sigterm, postgres
from quire.entrypoints.migrate import migrate
from quire.jobs.infrastructure.postgres.sql import load

QUEUE = "bench"
# Jobs a claim, and by how much to shorten a run of such small steps.
BATCHES = ((1, 10), (20, 1), (100, 1), (500, 1))
FILL = """
WITH job AS (
    INSERT INTO jobs (id, state, kind, queue, priority, tenant_id, created_by, payload, job_key)
    SELECT uuidv7(), 'queued', 'jobs.noop', $1, 0, 'bench', 'bench', '{"number": 1}',
           sha256(int8send(number))
    FROM generate_series(1::bigint, $2::bigint) AS number RETURNING *
)
INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane)
SELECT queue, priority, run_at, id, tenant_id, false FROM job
"""


async def fill(dsn: str, jobs: int) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("TRUNCATE jobs, job_lanes, job_running, job_events")
        await connection.execute(FILL, QUEUE, jobs)
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


def drain_once(python: Path, driver: str, dsn: str, batch: int) -> dict[str, float]:
    statements = load("leases.sql")
    order = {"dsn": dsn, "batch": batch, "queues": [QUEUE]}
    order |= {"claim": statements["claim_lanes"], "complete": statements["complete_jobs"]}
    command = [str(python), "-m", "bench.driver_loop", driver]
    done = subprocess.run(
        command, input=json.dumps(order), text=True, capture_output=True, check=True, cwd=REPOSITORY
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def measure(dsn: str, batch: int, jobs: int, rounds: int) -> list[Row]:
    """Rounds alternate the drivers, so that a busy moment of the machine meets both."""
    seen: dict[str, list[dict[str, float]]] = {"asyncpg": [], "psycopg": []}
    for _ in range(rounds):
        for driver, measured in seen.items():
            asyncio.run(fill(dsn, jobs))
            measured.append(drain_once(peer_python(), driver, dsn, batch))
    rates, costs = (
        {driver: statistics.median(one[unit] for one in measured) for driver, measured in seen.items()}
        for unit in ("jobs_per_second", "cpu_us_per_job")
    )
    work, note = f"claim + complete, batch {batch}", "quire = asyncpg"
    return [
        Row(
            f"{work}, jobs/s",
            rates["asyncpg"],
            "psycopg 3",
            rates["psycopg"],
            note=f"{note}; bound by the server",
        ),
        Row(f"{work}, client CPU µs/job", costs["asyncpg"], "psycopg 3", costs["psycopg"], 1.0, True, note),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    jobs, rounds = (3_000, 3) if quick else (10_000, 5)
    end_on_sigterm()
    with postgres() as prefix:
        dsn = prefix + "quire"
        asyncio.run(migrate(dsn))
        rows = [row for batch, few in BATCHES for row in measure(dsn, batch, jobs // few, rounds)]
        publish("drivers", rows)


if __name__ == "__main__":
    main()

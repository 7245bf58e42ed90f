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
from bench.servers import postgres
from quire.jobs.infrastructure.postgres.sql import load

SCHEMA = REPOSITORY / "migrations" / "versions" / "0002_jobs.sql"
QUEUE = "bench"
FILL = """
INSERT INTO jobs (id, state, kind, queue, priority, tenant_id, created_by, payload, job_key)
SELECT uuidv7(), 'queued', 'jobs.noop', $1, 0, 'bench', 'bench', '{"number": 1}',
       sha256(int8send(number))
FROM generate_series(1::bigint, $2::bigint) AS number
"""


async def fill(dsn: str, jobs: int) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("TRUNCATE jobs, job_events")
        await connection.execute(FILL, QUEUE, jobs)
        await connection.execute("VACUUM ANALYZE jobs")
    finally:
        await connection.close()


async def install(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(SCHEMA.read_text(encoding="utf-8"))
    finally:
        await connection.close()


def jobs_per_second(python: Path, driver: str, dsn: str, batch: int) -> float:
    statements = load("leases.sql")
    order = {"dsn": dsn, "batch": batch, "queues": [QUEUE]}
    order |= {"claim": statements["claim_open_lanes"], "complete": statements["complete_jobs"]}
    command = [str(python), "-m", "bench.driver_loop", driver]
    done = subprocess.run(
        command, input=json.dumps(order), text=True, capture_output=True, check=True, cwd=REPOSITORY
    )
    return float(json.loads(done.stdout)["jobs_per_second"])


def measure(dsn: str, batch: int, jobs: int, rounds: int) -> Row:
    """Rounds alternate the drivers, so that a busy moment of the machine meets both."""
    python, seen = peer_python(), {"asyncpg": list[float](), "psycopg": list[float]()}
    for _ in range(rounds):
        for driver, rates in seen.items():
            asyncio.run(fill(dsn, jobs))
            rates.append(jobs_per_second(python, driver, dsn, batch))
    ours, other = (statistics.median(seen[driver]) for driver in ("asyncpg", "psycopg"))
    return Row(
        f"claim + complete, batch {batch}, jobs/s", ours, "psycopg 3", other, bar=1.0, note="quire = asyncpg"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    jobs, rounds = (3_000, 3) if quick else (10_000, 7)
    with postgres() as prefix:
        dsn = prefix + "postgres"
        asyncio.run(install(dsn))
        publish("drivers", [measure(dsn, batch, jobs, rounds) for batch in (1, 20, 100, 500)])


if __name__ == "__main__":
    main()

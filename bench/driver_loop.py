"""One driver, one connection: claim a batch, complete it, until the table is empty.

Runs in the peers' environment: `python -m bench.driver_loop asyncpg|psycopg`, a JSON order on stdin.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import psycopg
import uvloop

Fetch = Callable[[str, list[Any]], Awaitable[list[Any]]]
LEASE_SECONDS = 60.0
TTL_SECONDS = 3600.0


async def open_asyncpg(dsn: str) -> Fetch:
    connection = await asyncpg.connect(dsn)
    prepared: dict[str, Any] = {}

    async def fetch(sql: str, arguments: list[Any]) -> list[Any]:
        if sql not in prepared:
            prepared[sql] = await connection.prepare(sql)
        rows: list[Any] = await prepared[sql].fetch(*arguments)
        return rows

    return fetch


async def open_psycopg(dsn: str) -> Fetch:
    """Binary both ways, prepared on first use: the fastest psycopg has."""
    connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True, prepare_threshold=0)
    cursor = psycopg.AsyncRawCursor(connection)
    cursor.format = psycopg.pq.Format.BINARY

    async def fetch(sql: str, arguments: list[Any]) -> list[Any]:
        await cursor.execute(sql, arguments, binary=True)
        rows: list[Any] = await cursor.fetchall()
        return rows

    return fetch


async def drain(fetch: Fetch, order: dict[str, Any]) -> dict[str, float]:
    worker, handled, started, cpu_started = uuid.uuid4(), 0, time.monotonic(), time.process_time()
    lane = [order["queues"], [0], [order["batch"]], order["batch"]]
    while rows := await fetch(order["claim"], [worker, *lane, LEASE_SECONDS]):
        await fetch(order["complete"], completion(worker, rows))
        handled += len(rows)
    return {
        "jobs_per_second": handled / (time.monotonic() - started),
        "cpu_us_per_job": (time.process_time() - cpu_started) / handled * 1e6,
    }


def completion(worker: uuid.UUID, rows: list[Any]) -> list[Any]:
    size = len(rows)
    ids, fences, nothing = [row[0] for row in rows], [row[1] for row in rows], [None] * size
    return [worker, ids, fences, nothing, nothing, [1] * size, [TTL_SECONDS] * size, nothing, nothing]


async def main() -> None:
    order = json.load(sys.stdin)
    fetch = await {"asyncpg": open_asyncpg, "psycopg": open_psycopg}[sys.argv[1]](order["dsn"])
    print(json.dumps(await drain(fetch, order)))


if __name__ == "__main__":
    uvloop.run(main())

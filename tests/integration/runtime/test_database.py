"""The door to Postgres: connections that stay at hand, and what becomes of broken ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from quire.runtime.database import AT_HAND_MAX, Database, _is_usable

PID = "SELECT pg_backend_pid()"


async def _pid(database: Database) -> int:
    async with database.acquire() as connection:
        return int(await connection.fetchval(PID))


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    opened = await Database.open(dsn, pool_max=6)
    yield opened
    await opened.close()


async def test_the_same_connection_serves_one_caller_after_another(database: Database) -> None:
    assert len({await _pid(database) for _ in range(5)}) == 1


async def test_more_callers_than_connections_are_all_served(database: Database) -> None:
    async def slow() -> int:
        async with database.acquire() as connection:
            await connection.execute("SELECT pg_sleep(0.02)")
            return int(await connection.fetchval(PID))

    seen = await asyncio.gather(*(slow() for _ in range(40)))
    assert len(seen) == 40
    assert len(set(seen)) <= 6


async def test_a_rush_leaves_only_a_few_connections_at_hand(database: Database) -> None:
    together = asyncio.Barrier(6)

    async def hold() -> None:
        async with database.acquire():
            await together.wait()

    await asyncio.gather(*(hold() for _ in range(6)))
    assert len(database._at_hand) == AT_HAND_MAX


async def test_a_connection_that_the_server_ended_is_replaced(database: Database, dsn: str) -> None:
    first = await _pid(database)
    other = await asyncpg.connect(dsn)
    await other.execute("SELECT pg_terminate_backend($1)", first)
    await other.close()
    async with asyncio.timeout(10):
        while _is_usable(database._at_hand[-1]):
            await asyncio.sleep(0.01)
    assert await _pid(database) != first


async def test_a_cancelled_statement_leaves_no_broken_connection_behind(database: Database) -> None:
    async def sleep() -> None:
        async with database.acquire() as connection:
            await connection.execute("SELECT pg_sleep(30)")

    task = asyncio.create_task(sleep())
    while not (await _sleepers(database)):
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [await _pid(database) for _ in range(3)]


async def _sleepers(database: Database) -> int:
    async with database.acquire() as connection:
        counted = await connection.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(30)%' AND state = 'active'"
        )
        return int(counted)


async def test_a_transaction_left_open_is_not_handed_to_the_next_caller(database: Database) -> None:
    async with database.acquire() as connection:
        await connection.execute("BEGIN")
    async with database.acquire() as connection:
        assert not connection.is_in_transaction()


async def test_closing_waits_for_who_still_holds_a_connection(dsn: str) -> None:
    database = await Database.open(dsn, pool_max=2)
    await _pid(database)
    async with database.acquire() as connection:
        closing = asyncio.create_task(database.close())
        await asyncio.sleep(0)
        assert await connection.fetchval("SELECT 1") == 1
    async with asyncio.timeout(4):
        await closing

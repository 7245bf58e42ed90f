"""One real Postgres for the whole run, and a fresh migrated database for every test that asks for one."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import asyncpg
import pytest

from quire.entrypoints.migrate import migrate
from quire.runtime.database import Database
from quire.runtime.embedded_postgres import EmbeddedPostgres

TEMPLATE = "quire_template"
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """Shared by all tests: a test that kills or restarts a server starts its own `EmbeddedPostgres`."""
    server = EmbeddedPostgres(tmp_path_factory.mktemp("postgres"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def migrated_template(postgres_server: EmbeddedPostgres) -> str:
    asyncio.run(_execute(postgres_server.dsn, f"CREATE DATABASE {TEMPLATE}"))
    asyncio.run(migrate(postgres_server.dsn_of(TEMPLATE)))
    return TEMPLATE


@pytest.fixture
async def empty_dsn(postgres_server: EmbeddedPostgres) -> AsyncIterator[str]:
    """A database without any migration."""
    async for dsn in _fresh_database(postgres_server, "template1"):
        yield dsn


@pytest.fixture
async def dsn(postgres_server: EmbeddedPostgres, migrated_template: str) -> AsyncIterator[str]:
    """A database at the newest migration, copied from a template in a few hundredths of a second."""
    async for dsn in _fresh_database(postgres_server, migrated_template):
        yield dsn


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    database = await Database.open(dsn, application="test")
    yield database
    await database.close()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


async def _fresh_database(server: EmbeddedPostgres, template: str) -> AsyncIterator[str]:
    name = f"test_{next(_numbers)}"
    await _execute(server.dsn, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield server.dsn_of(name)
    await _drop(server.dsn, name)


async def _drop(dsn: str, name: str) -> None:
    """An autovacuum worker in the database belongs to the superuser and may not be ended by us; it ends soon."""
    for _ in range(100):
        try:
            await _execute(dsn, f"DROP DATABASE {name} WITH (FORCE)")
        except asyncpg.InsufficientPrivilegeError:
            await asyncio.sleep(0.1)
        else:
            return
    raise TimeoutError(f"database {name} stays in use")


async def _execute(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()

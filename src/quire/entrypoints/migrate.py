"""Brings a database to a schema version through Alembic. Two starters never migrate at the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import asyncpg

from quire.entrypoints.shipped import shipped_dir
from quire.kernel import UnavailableError
from quire.runtime.database import (
    CONNECT_TIMEOUT_SECONDS,
    REFUSED_AT_FIRST,
    UNREACHABLE,
    Connection,
    DatabaseRefusedError,
    DatabaseUnavailableError,
    refusal_reason,
)

# Alembic and SQLAlchemy take a second to import, which the processes that only ask for the head need not pay.
if TYPE_CHECKING:
    import sqlalchemy
    from sqlalchemy.ext.asyncio import AsyncEngine

LOCK_WAIT_SECONDS = 120.0
_LOCK_POLL_SECONDS = 0.1
# "quire" in ASCII; an advisory lock's number means the same to every process of one database.
_LOCK_KEY = int.from_bytes(b"quire")


class MigrationBusyError(UnavailableError):
    code = "MIGRATION_BUSY"
    title = "Another process is migrating the database"


async def migrate(dsn: str, revision: str = "head") -> str:
    """Upgrades and returns the revision. Needs a direct DSN: a transaction-mode pooler loses the lock."""
    async with _migration_lock(dsn) as holder:
        if revision == "head" and await applied_revision(holder) == head_revision():
            return head_revision()
        async with _connect(dsn) as engine, engine.connect() as connection:
            return await connection.run_sync(_upgrade, revision)


async def applied_revision(connection: Connection | asyncpg.Connection[asyncpg.Record]) -> str | None:
    """What Alembic wrote down; None in a database it never saw."""
    if await connection.fetchval("SELECT to_regclass('alembic_version') IS NULL"):
        return None
    revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    return revision


def head_revision() -> str:
    """Versions are one numbered line of files, `NNNN_name.py`; the newest has the greatest number."""
    names = (path.name for path in (shipped_dir("migrations") / "versions").glob("[0-9]*.py"))
    return max(names).partition("_")[0]


def open_engine(dsn: str) -> AsyncEngine:
    from sqlalchemy import NullPool
    from sqlalchemy.ext.asyncio import create_async_engine

    if dsn.partition("://")[0] not in ("postgres", "postgresql"):
        raise DatabaseUnavailableError("DATABASE_URL must begin with postgresql://")

    async def connect() -> asyncpg.Connection[asyncpg.Record]:
        """The driver reads the DSN as it does everywhere else; SQLAlchemy knows no sslmode."""
        return await asyncpg.connect(dsn, timeout=CONNECT_TIMEOUT_SECONDS)

    return create_async_engine("postgresql+asyncpg://", async_creator=connect, poolclass=NullPool)


def _upgrade(connection: sqlalchemy.Connection, revision: str) -> str:
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext

    config = Config()
    config.set_main_option("script_location", str(shipped_dir("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    reached = MigrationContext.configure(connection).get_current_revision()
    connection.commit()
    return reached or "empty"


@asynccontextmanager
async def _connect(dsn: str) -> AsyncIterator[AsyncEngine]:
    engine = open_engine(dsn)
    try:
        yield engine
    except UNREACHABLE as error:
        raise DatabaseUnavailableError(f"cannot migrate: {type(error).__name__}") from error
    finally:
        await engine.dispose()


@asynccontextmanager
async def _migration_lock(dsn: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """On a connection of its own, so that a migration may commit in between (CREATE INDEX CONCURRENTLY)."""
    try:
        connection = await asyncpg.connect(dsn, timeout=CONNECT_TIMEOUT_SECONDS)
    except UNREACHABLE as error:
        raise DatabaseUnavailableError(f"cannot connect: {type(error).__name__}") from error
    except REFUSED_AT_FIRST as error:
        raise DatabaseRefusedError(refusal_reason(error)) from error
    try:
        await _take_lock(connection)
        yield connection
    finally:
        await connection.close()


async def _take_lock(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    # Asking again beats waiting inside the server: a waiting statement holds a snapshot, and an index built
    # concurrently by the lock's owner would wait for that snapshot in turn.
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while not await connection.fetchval("SELECT pg_try_advisory_lock($1)", _LOCK_KEY):
        if time.monotonic() > deadline:
            raise MigrationBusyError(f"waited {LOCK_WAIT_SECONDS:.0f} s for it")
        await asyncio.sleep(_LOCK_POLL_SECONDS)

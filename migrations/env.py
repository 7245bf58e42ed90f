"""Alembic's entry: on the connection `quire migrate` hands in, or on one from DATABASE_URL (`alembic …`)."""

import asyncio

from alembic import context
from sqlalchemy import Connection

from quire.entrypoints.migrate import open_engine
from quire.runtime.settings import load_settings


def run(connection: Connection) -> None:
    # One transaction a migration: a long chain that fails keeps what is done, and the next start continues.
    context.configure(connection=connection, target_metadata=None, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()


async def run_alone() -> None:
    engine = open_engine(load_settings().listen_dsn)
    async with engine.connect() as connection:
        await connection.run_sync(run)
    await engine.dispose()


handed_in = context.config.attributes.get("connection")
if handed_in is None:
    asyncio.run(run_alone())
else:
    run(handed_in)

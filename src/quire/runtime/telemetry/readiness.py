"""Ready means: the database answers within a second and its schema is not older than this code."""

from __future__ import annotations

import asyncio

import asyncpg

from quire.kernel import UnavailableError
from quire.runtime.database import Database, DatabaseUnavailableError

ANSWER_SECONDS = 1.0

# schema_revision: what Alembic last brought the database to. No locks.
SCHEMA_REVISION = "SELECT version_num FROM alembic_version"


class SchemaBehindError(UnavailableError):
    code = "SCHEMA_BEHIND"
    title = "The database waits for a migration"


async def require_schema(database: Database, head_revision: str) -> None:
    """Revisions are zero-padded numbers. A newer one is fine: migrations keep old code running."""
    revision = await _revision(database)
    if revision is None or revision < head_revision:
        found = "has no schema" if revision is None else f"is at {revision}"
        raise SchemaBehindError(
            f"the database {found}, this release needs {head_revision}; run quire migrate"
        )


async def _revision(database: Database) -> str | None:
    try:
        async with database.acquire() as connection:
            revision: str | None = await connection.fetchval(SCHEMA_REVISION)
            return revision
    except asyncpg.UndefinedTableError:
        return None


class DatabaseReadiness:
    def __init__(self, database: Database, head_revision: str) -> None:
        self._database = database
        self._head_revision = head_revision

    async def __call__(self) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await require_schema(self._database, self._head_revision)
        except TimeoutError:
            raise DatabaseUnavailableError(f"no answer within {ANSWER_SECONDS:g} s") from None

"""The lanes as an outbox: a job's row is there from its acceptance to its claim."""

from __future__ import annotations

from collections.abc import Sequence

from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.messenger import Message
from quire.runtime.database import Database

SQL = load("outbox.sql")


class PostgresOutbox:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def owed(self, queues: Sequence[str], waited_seconds: float, limit: int) -> list[Message]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["owed_messages"], queues, waited_seconds, limit)
        return [Message(row["job_id"], row["queue"], row["traceparent"]) for row in rows]

"""Expiry and pruning on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.expiry_store import Backlog
from quire.runtime.database import Database

SQL = load("expiry.sql")
ARTIFACTS = load("artifacts.sql")
WORKERS = load("workers.sql")


class PostgresExpiryStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, limit: int) -> Sequence[UUID]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["due_for_expiry"], limit)
        return [row["id"] for row in rows]

    async def artifacts_of(self, job_ids: Sequence[UUID]) -> Sequence[tuple[UUID, str]]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["artifacts_of_jobs"], job_ids)
        return [(row["job_id"], row["artifact_key"]) for row in rows]

    async def expire(self, job_ids: Sequence[UUID], actor: str) -> Sequence[str]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["expire_jobs"], job_ids, actor)
        return [row["kind"] for row in rows]

    async def stray_artifacts(self, limit: int, age_seconds: float) -> Sequence[str]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(ARTIFACTS["stray_artifacts"], limit, age_seconds)
        return [row["artifact_key"] for row in rows]

    async def forget_artifacts(self, keys: Sequence[str]) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(ARTIFACTS["forget_artifacts"], keys)

    async def prune_events(self, event_days: float, limit: int) -> int:
        async with self._database.acquire() as connection:
            status = await connection.execute(SQL["prune_events"], event_days, limit)
        return int(status.split()[-1])

    async def prune_jobs(self, job_days: float, limit: int) -> int:
        async with self._database.acquire() as connection:
            return int(await connection.fetchval(SQL["prune_jobs"], job_days, limit))

    async def prune_ticks(self, limit: int) -> int:
        async with self._database.acquire() as connection:
            status = await connection.execute(SQL["prune_ticks"], limit)
        return int(status.split()[-1])

    async def tidy(self) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(SQL["prune_outcomes"])
            await connection.execute(SQL["mend_lines"])
            await connection.execute(WORKERS["forget_workers"])

    async def backlog(self, job_days: float, stray_seconds: float, limit: int) -> Sequence[Backlog]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["sweep_backlog"], limit, job_days, stray_seconds)
        return [Backlog(*row) for row in rows]

"""Worker cards, presence beats and single-holder roles on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.worker_registry import LiveWorker, WorkerCard
from quire.runtime.database import Database

SQL = load("workers.sql")
# Three beats of 300 ms: a worker silent for longer is not live.
PRESENCE_SECONDS = 0.95


class PostgresWorkerRegistry:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def register(self, card: WorkerCard) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(
                SQL["register_worker"],
                card.id,
                card.host,
                card.pid,
                card.version,
                list(card.queues),
                card.concurrency,
                card.lease_seconds,
            )

    async def beat(self, worker_id: UUID, running_jobs: int, claiming: bool) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(SQL["beat"], worker_id, running_jobs, claiming)

    async def sign_off(self, worker_id: UUID) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(SQL["sign_off"], worker_id)

    async def live(self) -> Sequence[LiveWorker]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["live_workers"], PRESENCE_SECONDS)
        return [LiveWorker(**{**row, "queues": tuple(row["queues"])}) for row in rows]

    async def take_role(self, role: str, holder: UUID, lease_seconds: float) -> bool:
        async with self._database.acquire() as connection:
            return await connection.fetchval(SQL["take_role"], role, holder, lease_seconds) is not None

    async def role_due(self, role: str, every_seconds: float) -> bool:
        async with self._database.acquire() as connection:
            return bool(await connection.fetchval(SQL["role_due"], role, every_seconds))

    async def note_role_run(self, role: str, holder: UUID) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(SQL["note_role_run"], role, holder)

    async def release_role(self, role: str, holder: UUID) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(SQL["release_role"], role, holder)

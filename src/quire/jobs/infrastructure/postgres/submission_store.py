"""New jobs into Postgres: one statement a batch, once a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg

from quire.jobs.domain.errors import DependencyHeldError, DependencyUnusableError, TenantQuotaError
from quire.jobs.domain.job import Artifact, Submission
from quire.jobs.domain.state import JobState
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.infrastructure.postgres.worker_registry import PRESENCE_SECONDS
from quire.jobs.ports.v1.submission_store import KeyHolder, Survey
from quire.runtime.database import Connection, Database

SQL = load("submissions.sql")


class PostgresSubmissionStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self, submissions: Sequence[Submission], *, queued_max: int | None = None
    ) -> frozenset[UUID]:
        if queued_max is None and not any(item.depends_on for item in submissions):
            async with self._database.acquire() as connection:
                if len(submissions) == 1:
                    return await self._insert_row(connection, submissions[0])
                return await self._insert_rows(connection, submissions, {})
        async with self._database.transaction() as connection:
            room = await self._quota_room(connection, submissions, queued_max)
            pending = await self._pending_counts(connection, submissions)
            stored = await self._insert_rows(connection, submissions, pending)
            if room is not None and len(stored) > room:
                raise _over_quota(submissions, queued_max)
            _refuse_waiting_for_nothing(submissions, stored)
            await self._insert_dependencies(connection, submissions, stored)
        return stored

    async def _insert_row(self, connection: Connection, item: Submission) -> frozenset[UUID]:
        stored = await connection.fetchval(
            SQL["insert_job"],
            item.id,
            item.kind,
            item.queue,
            item.priority,
            item.tenant_id,
            item.created_by,
            item.payload_text,
            item.job_key,
            item.run_at,
            item.traceparent,
            item.tenant_lane,
            item.document_id,
            item.external_ref,
            item.ttl_seconds,
        )
        return frozenset() if stored is None else frozenset((stored,))

    async def _insert_rows(
        self, connection: Connection, items: Sequence[Submission], pending: dict[UUID, int]
    ) -> frozenset[UUID]:
        rows = await connection.fetch(
            SQL["insert_jobs"],
            [item.id for item in items],
            ["waiting" if pending.get(item.id) else "queued" for item in items] if pending else [],
            [item.kind for item in items],
            [item.queue for item in items],
            [item.priority for item in items],
            [item.tenant_id for item in items],
            [item.created_by for item in items],
            [item.payload_text for item in items],
            [item.job_key for item in items],
            _sparse([item.run_at for item in items]),
            [pending.get(item.id, 0) for item in items] if pending else [],
            _sparse([item.traceparent for item in items]),
            _sparse([item.tenant_lane or None for item in items]),
            _sparse([item.document_id for item in items]),
            _sparse([item.external_ref for item in items]),
            [item.ttl_seconds for item in items],
        )
        return frozenset(row["id"] for row in rows)

    async def _quota_room(
        self, connection: Connection, submissions: Sequence[Submission], queued_max: int | None
    ) -> int | None:
        """How many new jobs the tenant may still queue. Work whose key is held already needs no room."""
        if queued_max is None:
            return None
        first = submissions[0]
        await connection.execute(SQL["lock_tenant_quota"], first.tenant_id, first.queue)
        counted = await connection.fetchval(
            SQL["count_tenant_queued"], first.queue, first.tenant_id, queued_max
        )
        room = queued_max - int(counted)
        if len(submissions) > room:
            # A tenant that keeps asking over its quota is refused before anything is written.
            keys = [item.job_key for item in submissions if item.job_key is not None]
            if len(submissions) - len((await _survey(connection, keys, ())).holders) > room:
                raise _over_quota(submissions, queued_max)
        return room

    async def _pending_counts(
        self, connection: Connection, submissions: Sequence[Submission]
    ) -> dict[UUID, int]:
        """Dependencies inside the batch are pending by nature; stored ones are looked at under a lock."""
        own = {item.id for item in submissions}
        wanted = {dep for item in submissions for dep in item.depends_on} - own
        rows = await connection.fetch(SQL["lock_dependencies"], list(wanted)) if wanted else []
        states = {row["id"]: (JobState(row["state"]), row["tenant_id"]) for row in rows}
        return {item.id: _count_pending(item, own, states) for item in submissions if item.depends_on}

    async def _insert_dependencies(
        self, connection: Connection, submissions: Sequence[Submission], stored: frozenset[UUID]
    ) -> None:
        pairs = [(item.id, dep) for item in submissions if item.id in stored for dep in set(item.depends_on)]
        if pairs:
            await connection.execute(SQL["insert_dependencies"], [p[0] for p in pairs], [p[1] for p in pairs])

    async def survey(self, keys: Sequence[bytes], queues: Sequence[str] = ()) -> Survey:
        async with self._database.acquire() as connection:
            return await _survey(connection, keys, queues)

    async def add_interests(self, interests: Sequence[tuple[UUID, str]]) -> frozenset[UUID]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(
                SQL["add_interests"], [job_id for job_id, _ in interests], [who for _, who in interests]
            )
        return frozenset(row["id"] for row in rows)

    async def expire_holders(self, job_ids: Sequence[UUID], actor: str) -> Sequence[str]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["expire_holders"], job_ids, actor)
        return [row["kind"] for row in rows]

    async def expire_vanished(self, job_id: UUID, artifact_key: str, actor: str) -> bool:
        async with self._database.acquire() as connection:
            return await connection.fetchval(SQL["expire_vanished"], job_id, artifact_key, actor) is not None


async def _survey(connection: Connection, keys: Sequence[bytes], queues: Sequence[str]) -> Survey:
    rows = await connection.fetch(SQL["survey"], keys, queues, PRESENCE_SECONDS)
    holders = {row["job_key"]: _holder(row) for row in rows if row["queue"] is None}
    return Survey(holders, frozenset(row["queue"] for row in rows if row["queue"] is not None))


def _holder(row: asyncpg.Record) -> KeyHolder:
    job_id, key, state, created_by, artifact_key, *about, _ = row
    artifact = Artifact(artifact_key, job_id, *about) if about[0] is not None else None
    return KeyHolder(job_id, key, JobState(state), created_by, artifact_key, artifact)


def _over_quota(submissions: Sequence[Submission], queued_max: int | None) -> TenantQuotaError:
    return TenantQuotaError(f"queue {submissions[0].queue!r} takes at most {queued_max} queued jobs a tenant")


def _refuse_waiting_for_nothing(submissions: Sequence[Submission], stored: frozenset[UUID]) -> None:
    """What was not stored has no row that could ever finish and release those who wait for it."""
    absent = {item.id for item in submissions} - stored
    if any(absent & set(item.depends_on) for item in submissions if item.id in stored):
        raise DependencyHeldError()


def _sparse(column: list[Any]) -> list[Any]:
    """A column of nothing travels as an empty array: `unnest` pads it with NULLs, and the driver would look at
    every element of a full one."""
    return column if any(value is not None for value in column) else []


def _count_pending(item: Submission, own: set[UUID], states: dict[UUID, tuple[JobState, str]]) -> int:
    pending = 0
    for dependency in set(item.depends_on):
        if dependency in own:
            pending += 1
            continue
        state, tenant = states.get(dependency, (None, None))
        # Another tenant's job is as good as none: its existence is not told.
        if state is None or tenant != item.tenant_id:
            raise DependencyUnusableError(f"no job {dependency} to wait for")
        if state in (JobState.FAILED, JobState.CANCELLED, JobState.EXPIRED):
            raise DependencyUnusableError(f"job {dependency} is {state}")
        pending += state is not JobState.SUCCEEDED
    return pending

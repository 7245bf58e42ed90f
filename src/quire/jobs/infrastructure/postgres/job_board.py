"""Reads and people's commands on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg

from quire.jobs.domain.job import Artifact, Job, JobDetail, JobEvent, JobFilter, QueueDepth, QueuePause
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.state import JobState
from quire.jobs.infrastructure.postgres.dependants import fail_dependants
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.infrastructure.postgres.worker_registry import PRESENCE_SECONDS
from quire.jobs.ports.v1.job_board import CancelOutcome, Sight
from quire.runtime.database import Connection, Database

SQL = load("jobs.sql")
ARTIFACTS = load("artifacts.sql")
WORKERS = load("workers.sql")
INTEGRATIONS = load("integrations.sql")
# Beside its key, which the job has, too.
ARTIFACT_COLUMNS = ("artifact_job_id", "content_type", "filename", "size_bytes", "sha256", "seconds_left")
DEPTH_LIMIT = 100_000
UNSTARTED = (JobState.WAITING, JobState.QUEUED)
DEPENDANT_KEEP_SECONDS = 10 * 86400.0


def job_of(row: asyncpg.Record) -> Job:
    return _job(dict(row))


def _job(values: dict[str, Any]) -> Job:
    values["state"] = JobState(values["state"])
    return Job(**values)


def event_of(row: asyncpg.Record) -> JobEvent:
    source = JobState(row["from_state"]) if row["from_state"] else None
    return JobEvent(row["at"], source, JobState(row["to_state"]), *tuple(row)[3:])


class PostgresJobBoard:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, job_id: UUID, sight: Sight) -> Job | None:
        async with self._database.acquire() as connection:
            return await self._get(connection, job_id, sight)

    async def _get(self, connection: Connection, job_id: UUID, sight: Sight) -> Job | None:
        row = await connection.fetchrow(SQL["get_job"], job_id, sight.tenant_id, sight.principal_id)
        return job_of(row) if row else None

    async def detail(self, job_id: UUID, sight: Sight) -> JobDetail | None:
        async with self._database.acquire() as connection:
            job = await self._get(connection, job_id, sight)
            if job is None:
                return None
            events = [event_of(row) for row in await connection.fetch(SQL["timeline"], job_id)]
            depends_on = [row["depends_on"] for row in await connection.fetch(SQL["dependencies"], job_id)]
            artifact = await self._artifact(connection, job)
            pause = await self._pause(connection, job)
            live_workers = await self._live_workers(connection, job)
        return JobDetail(job, events, depends_on, artifact, pause, live_workers)

    async def outcome(self, job_id: UUID, sight: Sight, *, with_payload: bool = True) -> JobDetail | None:
        async with self._database.acquire() as connection:
            row = await connection.fetchrow(
                SQL["get_outcome"], job_id, sight.tenant_id, sight.principal_id, with_payload
            )
        if row is None:
            return None
        values = dict(row)
        about = [values.pop(name) for name in ARTIFACT_COLUMNS]
        artifact = Artifact(values["artifact_key"], *about) if about[0] else None
        return JobDetail(_job(values), [], [], artifact)

    async def _pause(self, connection: Connection, job: Job) -> QueuePause | None:
        if job.state not in UNSTARTED:
            return None
        row = await connection.fetchrow(SQL["queue_pause"], job.queue)
        return QueuePause(*row) if row else None

    async def _live_workers(self, connection: Connection, job: Job) -> int | None:
        if job.state not in UNSTARTED:
            return None
        workers = await connection.fetch(WORKERS["live_workers"], PRESENCE_SECONDS)
        return sum(job.queue in worker["queues"] for worker in workers)

    async def _artifact(self, connection: Connection, job: Job) -> Artifact | None:
        if job.artifact_key is None:
            return None
        row = await connection.fetchrow(ARTIFACTS["artifact_of_job"], job.id)
        return Artifact(*row) if row else None

    async def list_jobs(self, wanted: JobFilter) -> list[Job]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(
                SQL["list_jobs"],
                wanted.tenant_id,
                [str(state) for state in wanted.states],
                wanted.kind,
                wanted.queue,
                wanted.before_id,
                wanted.limit,
                wanted.visible_to,
                wanted.with_payload,
            )
        return [job_of(row) for row in rows]

    async def of_sha256(self, sha256: str, kind: str, sight: Sight) -> UUID | None:
        async with self._database.acquire() as connection:
            found: UUID | None = await connection.fetchval(
                SQL["job_of_sha256"], sha256, kind, sight.tenant_id, sight.principal_id
            )
        return found

    async def visible_among(self, job_ids: Sequence[UUID], sight: Sight) -> frozenset[UUID]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["visible_among"], job_ids, sight.tenant_id, sight.principal_id)
        return frozenset(row["id"] for row in rows)

    async def ended_among(self, job_ids: Sequence[UUID]) -> frozenset[UUID]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["ended_among"], job_ids)
        return frozenset(row["id"] for row in rows)

    async def cancel(self, job_id: UUID, sight: Sight, actor: str, *, force: bool) -> CancelOutcome | None:
        async with self._database.transaction() as connection:
            await connection.execute(SQL["lock_lane"], job_id)
            row = await connection.fetchrow(SQL["lock_job"], job_id, sight.tenant_id, sight.principal_id)
            if row is None:
                return None
            state = JobState(row["state"])
            if state not in (JobState.WAITING, JobState.QUEUED, JobState.RUNNING):
                return "already_ended"
            await connection.execute(SQL["withdraw_interest"], job_id, actor)
            if not force and await connection.fetchval(SQL["count_interests"], job_id, actor):
                return "interest_withdrawn"
            if state is JobState.RUNNING:
                await connection.execute(SQL["request_cancel"], job_id)
                return "cancelling"
            await connection.execute(SQL["cancel_unstarted"], job_id, state, actor)
            await fail_dependants(connection, [job_id], DEPENDANT_KEEP_SECONDS, actor)
            return "cancelled"

    async def queue_depths(self, queues: Sequence[str]) -> list[QueueDepth]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["queue_depths"], DEPTH_LIMIT, queues)
            workers = await connection.fetch(WORKERS["live_workers"], PRESENCE_SECONDS)
        served = [queue for worker in workers for queue in worker["queues"]]
        return [
            QueueDepth(
                queue=row["name"],
                waiting=row["waiting"],
                queued=row["queued"],
                scheduled=row["scheduled"],
                running=row["running"],
                oldest_queued_seconds=row["oldest_queued_seconds"] or 0.0,
                paused_at=row["paused_at"],
                paused_by=row["paused_by"],
                live_workers=served.count(row["name"]),
            )
            for row in rows
        ]

    async def register_policies(self, policies: Policies) -> None:
        """A row for each queue and integration, for claims and outcomes to lock."""
        async with self._database.acquire() as connection:
            await connection.execute(SQL["register_queues"], sorted(policies.queues.queues))
            await connection.execute(INTEGRATIONS["register_integrations"], sorted(policies.integrations))
            tenant_lanes = [queue.name for queue in policies.queues.queues.values() if queue.tenant_lane]
            await connection.execute(SQL["adopt_tenant_lanes"], tenant_lanes)

    async def pause(self, queue: str, actor: str) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(SQL["pause_queue"], queue, actor)

    async def resume(self, queue: str) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(SQL["resume_queue"], queue)

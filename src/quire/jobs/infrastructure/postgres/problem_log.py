"""The Problem Log on Postgres: decisions and what they set in motion, in one transaction each."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from quire.jobs.domain.errors import JobStateConflictError, NewerJobExistsError, TenantQuotaError
from quire.jobs.domain.problem import DISCARD, RELEASED, RETRY, Problem, ProblemFilter
from quire.jobs.domain.queue import QueuePolicies
from quire.jobs.domain.state import JobState
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.job_board import Sight
from quire.runtime.database import Connection, Database

SQL = load("problems.sql")
JOBS = load("jobs.sql")
SUBMISSIONS = load("submissions.sql")


class PostgresProblemLog:
    def __init__(self, database: Database, queues: QueuePolicies) -> None:
        self._database = database
        self._queues = queues

    async def get(self, problem_id: UUID, sight: Sight) -> Problem | None:
        async with self._database.acquire() as connection:
            row = await connection.fetchrow(
                SQL["get_problem"], problem_id, sight.tenant_id, sight.principal_id
            )
        return Problem(**row) if row else None

    async def list_problems(self, wanted: ProblemFilter) -> list[Problem]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(
                SQL["list_problems"],
                wanted.tenant_id,
                wanted.open_only,
                wanted.error_code,
                wanted.queue,
                wanted.before_id,
                wanted.limit,
                wanted.visible_to,
            )
        return [Problem(**row) for row in rows]

    async def open_of_job(self, job_id: UUID) -> UUID | None:
        async with self._database.acquire() as connection:
            found: UUID | None = await connection.fetchval(SQL["open_problem_of_job"], job_id)
        return found

    async def retry(self, problem: Problem, actor: str) -> None:
        try:
            async with self._database.transaction() as connection:
                await self._decide(connection, problem, RETRY, actor)
                await self._check_room(connection, problem)
                if not await self._restart(connection, problem.job_id, actor):
                    raise JobStateConflictError("the job is no longer a dead letter")
                await self._release_dependants(connection, problem.job_id, actor)
        except asyncpg.UniqueViolationError:
            raise await self._newer_job(problem.job_id) from None

    async def discard(self, problem: Problem, actor: str) -> None:
        async with self._database.transaction() as connection:
            await self._decide(connection, problem, DISCARD, actor)
            if await connection.fetchval(JOBS["discard_job"], problem.job_id, actor) is None:
                raise JobStateConflictError("the job is no longer a dead letter")

    async def _decide(self, connection: Connection, problem: Problem, decision: str, actor: str) -> None:
        if await connection.fetchval(SQL["decide_problem"], problem.id, decision, actor) is None:
            raise JobStateConflictError("the problem is already decided", code="PROBLEM_ALREADY_DECIDED")

    async def _check_room(self, connection: Connection, problem: Problem) -> None:
        """A restart is queued like any other job: dead letters gathered over days must not get around the quota."""
        policy = self._queues.queues.get(problem.queue)
        queued_max = policy.tenant_queued_max if policy else None
        if queued_max is None:
            return
        await connection.execute(SUBMISSIONS["lock_tenant_quota"], problem.tenant_id, problem.queue)
        queued = await connection.fetchval(
            SUBMISSIONS["count_tenant_queued"], problem.queue, problem.tenant_id, queued_max
        )
        if queued >= queued_max:
            raise TenantQuotaError(f"queue {problem.queue!r} takes at most {queued_max} queued jobs a tenant")

    async def _restart(self, connection: Connection, job_id: UUID, actor: str) -> bool:
        """A job that still waits for others goes back to waiting; one of them dead means it cannot run yet."""
        pending = await self._pending_dependencies(connection, job_id)
        if pending is None:
            raise JobStateConflictError(
                "a job it waits for has failed: decide on that one first", code="DEPENDENCY_FAILED"
            )
        target = JobState.WAITING if pending else JobState.QUEUED
        return await connection.fetchrow(JOBS["restart_job"], job_id, actor, target, pending) is not None

    async def _pending_dependencies(self, connection: Connection, job_id: UUID) -> int | None:
        """None: one of them is dead."""
        rows = await connection.fetch(JOBS["unfinished_dependencies"], job_id)
        return None if any(row["dead"] for row in rows) else sum(row["pending"] for row in rows)

    async def _release_dependants(self, connection: Connection, job_id: UUID, actor: str) -> None:
        """What failed only because of this job waits again, unless another of its dependencies is dead too."""
        for row in await connection.fetch(JOBS["failed_dependants"], job_id):
            pending = await self._pending_dependencies(connection, row["id"])
            if pending is not None and await self._release(connection, row["id"], actor, pending):
                await self._release_dependants(connection, row["id"], actor)

    async def _release(self, connection: Connection, job_id: UUID, actor: str, pending: int) -> bool:
        """False: a newer job does this one's work by now. That is no reason to leave the child undone."""
        try:
            async with connection.transaction():
                await connection.execute(JOBS["restart_job"], job_id, actor, JobState.WAITING, pending)
                await connection.execute(SQL["close_problem_of_job"], job_id, RELEASED, actor)
        except asyncpg.UniqueViolationError:
            return False
        return True

    async def _newer_job(self, job_id: UUID) -> NewerJobExistsError:
        async with self._database.acquire() as connection:
            key = await connection.fetchval("SELECT job_key FROM jobs WHERE id = $1", job_id)
            newer = await connection.fetchval(JOBS["live_job_of_key"], key)
        return NewerJobExistsError(f"job {newer} does the same work", extra={"job_id": str(newer)})

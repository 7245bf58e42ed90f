"""Claim, finish and reclaim on Postgres. Ownership is decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from quire.jobs.domain.errors import WORKER_LOST
from quire.jobs.domain.lease import HeartbeatReply, Lease
from quire.jobs.domain.outcome import Cancelled, Failed, HandedBack, Succeeded
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.problem import recommend
from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.domain.state import JobState
from quire.jobs.domain.transition import Transition
from quire.jobs.infrastructure.postgres.claims.named_claim import claim_named_jobs
from quire.jobs.infrastructure.postgres.claims.ordered_claim import claim_in_order
from quire.jobs.infrastructure.postgres.claims.suspect_claim import claim_suspect, suspect_queues
from quire.jobs.infrastructure.postgres.dependants import fail_dependants, open_problems
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.infrastructure.postgres.storable import storable
from quire.jobs.ports.v1.lease_store import Claim, Completion, DeadLetter, Reclaimed, Retry
from quire.kernel import QuireError
from quire.runtime.database import NOTICE_SILENCE, Connection, Database, prepare_connection

SQL = load("leases.sql")
CANCELLED_KEEP_SECONDS = 7 * 86400.0
WORDS_MAX = 2_000


def one_line(message: object, limit: int = 500) -> str:
    """What a handler says is stored as one line without control characters (NUL cannot be stored at all)."""
    flat = " ".join("".join(c if c.isprintable() else " " for c in str(message)[: 4 * limit]).split())
    return flat[:limit]


class PostgresLeaseStore:
    def __init__(self, database: Database, policies: Policies) -> None:
        self._database = database
        self._policies = policies

    @property
    def _dead_letter_seconds(self) -> float:
        return self._policies.retries.dead_letter_days * 86400.0

    async def claim(
        self, worker_id: UUID, queues: Sequence[QueuePolicy], limit: int, lease_seconds: float
    ) -> Claim:
        async with self._database.acquire() as connection:
            return await claim_in_order(connection, self._policies, worker_id, queues, limit, lease_seconds)

    async def claim_named(
        self,
        worker_id: UUID,
        queues: Sequence[QueuePolicy],
        job_ids: Sequence[UUID],
        limit: int,
        lease_seconds: float,
    ) -> Claim:
        async with self._database.acquire() as connection:
            named = await claim_named_jobs(connection, worker_id, queues, job_ids, limit, lease_seconds)
        room = limit - len(named)
        if len(named) == len(set(job_ids)) or room <= 0:
            return Claim(named)
        try:
            rest = await self.claim(worker_id, queues, room, lease_seconds)
        except QuireError:
            # What is claimed already must reach its worker, whatever became of the connection since.
            return Claim(named)
        return Claim([*named, *rest.leases], rest.retry_after_seconds)

    async def suspects_due(self, queues: Sequence[QueuePolicy]) -> bool:
        async with self._database.acquire() as connection:
            return bool(await suspect_queues(connection, queues))

    async def claim_suspect(
        self, worker_id: UUID, queues: Sequence[QueuePolicy], lease_seconds: float
    ) -> Claim:
        async with self._database.acquire() as connection:
            return await claim_suspect(connection, self._policies, worker_id, queues, lease_seconds)

    @storable
    async def complete(self, worker_id: UUID, done: Sequence[Succeeded]) -> Completion:
        artifacts = [item.artifact for item in done]
        made = any(artifacts)
        told = any(item.result_text is not None for item in done)
        # An empty array is padded with NULLs by unnest; the driver looks at every element of a full one.
        async with self._database.transaction() as connection:
            rows = await connection.fetch(
                SQL["complete_jobs"],
                worker_id,
                [item.lease.job_id for item in done],
                [item.lease.fence for item in done],
                [item.result_text for item in done] if told else [],
                [artifact.key if artifact else None for artifact in artifacts] if made else [],
                [item.duration_ms for item in done],
                [item.ttl_seconds for item in done],
                [artifact.size_bytes if artifact else None for artifact in artifacts] if made else [],
                [artifact.sha256 if artifact else None for artifact in artifacts] if made else [],
            )
            accepted = [row["id"] for row in rows]
            released = await connection.fetch(SQL["release_dependants"], str(worker_id), accepted)
        return Completion(frozenset(accepted), len(released))

    @storable
    async def retry(self, worker_id: UUID, retries: Sequence[Retry]) -> frozenset[UUID]:
        failed = [item.failed for item in retries]
        async with self._database.transaction() as connection:
            rows = await connection.fetch(
                SQL["retry_jobs"],
                worker_id,
                [item.lease.job_id for item in failed],
                [item.lease.fence for item in failed],
                [item.delay_seconds for item in retries],
                [item.error_code for item in failed],
                [one_line(item.message) for item in failed],
                [item.duration_ms for item in failed],
                self._policies.retries.max_crashes,
            )
            await fail_dependants(connection, _cancelled(rows), self._dead_letter_seconds, str(worker_id))
        return frozenset(row["id"] for row in rows)

    @storable
    async def hand_back(self, worker_id: UUID, returned: Sequence[HandedBack]) -> frozenset[UUID]:
        async with self._database.transaction() as connection:
            rows = await connection.fetch(
                SQL["hand_back_jobs"],
                worker_id,
                [item.lease.job_id for item in returned],
                [item.lease.fence for item in returned],
                [item.delay_seconds for item in returned],
                [one_line(item.reason) for item in returned],
                [item.duration_ms for item in returned],
                self._policies.retries.max_crashes,
                [item.deferral.end_code if item.deferral else None for item in returned],
            )
            await fail_dependants(connection, _cancelled(rows), self._dead_letter_seconds, str(worker_id))
        return frozenset(row["id"] for row in rows)

    async def deferred_seconds(self, lease: Lease, reason: str) -> float:
        async with self._database.acquire() as connection:
            return float(await connection.fetchval(SQL["deferred_seconds"], lease.job_id, one_line(reason)))

    @storable
    async def bury(self, worker_id: UUID, letters: Sequence[DeadLetter]) -> frozenset[UUID]:
        failed = [letter.failed for letter in letters]
        advice = {
            letter.failed.lease.job_id: one_line(letter.failed.advice.words, WORDS_MAX)
            or recommend(letter.failed.error_code, transient=letter.transient)
            for letter in letters
        }
        async with self._database.transaction() as connection:
            ended = await self._end(connection, worker_id, "failed", failed, self._dead_letter_seconds)
            await open_problems(connection, {job_id: advice[job_id] for job_id in ended})
            await fail_dependants(connection, ended, self._dead_letter_seconds, str(worker_id))
        return frozenset(ended)

    @storable
    async def cancel(self, worker_id: UUID, cancelled: Sequence[Cancelled]) -> frozenset[UUID]:
        async with self._database.transaction() as connection:
            ended = await self._end(connection, worker_id, "cancelled", cancelled, CANCELLED_KEEP_SECONDS)
            await fail_dependants(connection, ended, self._dead_letter_seconds, str(worker_id))
        return frozenset(ended)

    async def _end(
        self,
        connection: Connection,
        worker_id: UUID,
        target: str,
        items: Sequence[Failed] | Sequence[Cancelled],
        keep_seconds: float,
    ) -> list[UUID]:
        rows = await connection.fetch(
            SQL["end_jobs"],
            worker_id,
            [item.lease.job_id for item in items],
            [item.lease.fence for item in items],
            [target] * len(items),
            [item.error_code if isinstance(item, Failed) else None for item in items],
            [one_line(item.message) if isinstance(item, Failed) else None for item in items],
            [item.duration_ms for item in items],
            keep_seconds,
        )
        return [row["id"] for row in rows]

    async def note_progress(self, worker_id: UUID, lease: Lease, percent: int) -> bool:
        async with self._database.acquire() as connection:
            row = await connection.fetchrow(
                SQL["note_progress"], worker_id, lease.job_id, lease.fence, percent
            )
        return row is not None

    async def reclaim(self, page: int) -> Reclaimed:
        retries = self._policies.retries
        async with self._database.transaction() as connection:
            rows = await connection.fetch(
                SQL["reclaim_jobs"], page, retries.max_crashes, self._dead_letter_seconds, "reclaimer"
            )
            failed = [row["id"] for row in rows if row["state"] == "failed"]
            cancelled = _cancelled(rows)
            advice = recommend(WORKER_LOST, transient=False)
            await open_problems(connection, dict.fromkeys(failed, advice))
            await fail_dependants(connection, failed + cancelled, self._dead_letter_seconds, "reclaimer")
        moves = [_move(row) for row in rows]
        return Reclaimed(len(rows) - len(failed) - len(cancelled), len(failed), len(cancelled), moves)


def _move(row: asyncpg.Record) -> Transition:
    code = WORKER_LOST if row["state"] == "failed" else None
    return Transition(
        row["kind"],
        JobState(row["state"]),
        code,
        row["age_seconds"],
        job_id=row["id"],
        attempt=row["attempt"],
        reason="lease_expired",
        traceparent=row["traceparent"],
    )


def _cancelled(rows: Sequence[asyncpg.Record]) -> list[UUID]:
    return [row["id"] for row in rows if row["state"] == "cancelled"]


class PostgresLeaseRenewer:
    """Heartbeats over a connection of its own, so that no queue of statements can delay them."""

    def __init__(self, dsn: str, worker_id: UUID, lease_seconds: float, timeout_seconds: float) -> None:
        self._dsn = dsn
        self._worker_id = worker_id
        self._lease_seconds = lease_seconds
        self._timeout_seconds = timeout_seconds
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    async def _connected(self) -> asyncpg.Connection[asyncpg.Record]:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(
                self._dsn,
                timeout=self._timeout_seconds,
                command_timeout=self._timeout_seconds,
                server_settings={"application_name": "quire-heartbeat", "timezone": "UTC", **NOTICE_SILENCE},
            )
            await prepare_connection(self._connection)
        return self._connection

    async def renew(self, leases: Sequence[tuple[UUID, int]]) -> HeartbeatReply:
        ids = [job_id for job_id, _ in leases]
        fences = [fence for _, fence in leases]
        try:
            connection = await self._connected()
            rows = await connection.fetch(
                SQL["renew_leases"], self._worker_id, ids, fences, self._lease_seconds
            )
        except BaseException:
            # A connection that timed out may never answer again; the next beat opens another.
            self._drop_connection()
            raise
        renewed = {row["id"] for row in rows}
        cancel = frozenset(row["id"] for row in rows if row["cancel_requested"])
        return HeartbeatReply(frozenset(ids) - renewed, cancel)

    def _drop_connection(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close(timeout=2.0)

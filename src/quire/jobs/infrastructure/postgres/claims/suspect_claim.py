"""Claims of suspects: jobs that the next crash would make a dead letter. One at a time, by a worker that runs nothing
else, under the same pauses, gates and tenant caps as any other claim."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from quire.jobs.domain.policies import Policies
from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.infrastructure.postgres.claims.gated_claim import through_gate
from quire.jobs.infrastructure.postgres.claims.lease_row import leases_of
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.lease_store import Claim
from quire.runtime.database import Connection

SQL = load("leases.sql")


async def suspect_queues(connection: Connection, queues: Sequence[QueuePolicy]) -> list[str]:
    rows = await connection.fetch(SQL["suspect_queues"], [queue.name for queue in queues])
    return [row["queue"] for row in rows]


async def claim_suspect(
    connection: Connection,
    policies: Policies,
    worker_id: UUID,
    queues: Sequence[QueuePolicy],
    lease_seconds: float,
) -> Claim:
    waits: list[float] = []
    for name in await suspect_queues(connection, queues):
        claim = await _claim_from(connection, policies, worker_id, policies.queues.queue(name), lease_seconds)
        if claim.leases:
            return claim
        waits += [claim.retry_after_seconds] if claim.retry_after_seconds is not None else []
    return Claim([], min(waits, default=None))


async def _claim_from(
    connection: Connection, policies: Policies, worker_id: UUID, queue: QueuePolicy, lease_seconds: float
) -> Claim:
    async def take(_jobs: int) -> list[asyncpg.Record]:
        return await connection.fetch(
            SQL["claim_suspect"], worker_id, queue.name, lease_seconds, queue.tenant_running_max
        )

    if queue.gated:
        return await through_gate(connection, policies, queue, 1, take)
    return Claim(leases_of(await take(1)))

"""Claims the jobs that messages named, by the same rules as any other claim."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from quire.jobs.domain.lease import Lease
from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.infrastructure.postgres.claims.lease_row import leases_of
from quire.jobs.infrastructure.postgres.sql import load
from quire.runtime.database import Connection

SQL = load("named_claim.sql")


async def claim_named_jobs(
    connection: Connection,
    worker_id: UUID,
    queues: Sequence[QueuePolicy],
    job_ids: Sequence[UUID],
    limit: int,
    lease_seconds: float,
) -> list[Lease]:
    """Only from open queues: behind a gate the queue decides whose turn it is, not the message."""
    rows = await connection.fetch(
        SQL["claim_named_jobs"],
        worker_id,
        job_ids,
        [queue.name for queue in queues if not queue.gated],
        [queue.name for queue in queues],
        limit,
        lease_seconds,
    )
    return leases_of(rows)

"""Claims from a queue behind a gate: an integration's throttle and breaker, or tenant rules.

One short transaction: lock the gate, read what runs under that lock, claim what is allowed, write the gate back.
Two workers cannot overrun a cap, because the second reads after the first has committed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import asyncpg

from quire.jobs.domain.breaker import BreakerState
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.domain.throttle import Allowance, IntegrationPolicy, IntegrationState, allow
from quire.jobs.infrastructure.postgres.claims.lane import Turn, claim_lanes
from quire.jobs.infrastructure.postgres.claims.lease_row import leases_of
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.lease_store import Claim
from quire.runtime.database import Connection

LEASES = load("leases.sql")
JOBS = load("jobs.sql")
INTEGRATIONS = load("integrations.sql")

Take = Callable[[int], Awaitable[list[asyncpg.Record]]]


async def claim_gated_queue(
    connection: Connection,
    policies: Policies,
    worker_id: UUID,
    queue: QueuePolicy,
    turns: Sequence[Turn],
    lease_seconds: float,
) -> Claim:
    """`turns`: of this queue, smallest class first."""

    async def take(jobs: int) -> list[asyncpg.Record]:
        return await _claim(connection, worker_id, queue, turns, jobs, lease_seconds)

    return await through_gate(connection, policies, queue, sum(turn.jobs for turn in turns), take)


async def through_gate(
    connection: Connection, policies: Policies, queue: QueuePolicy, limit: int, take: Take
) -> Claim:
    """`take` claims up to so many jobs of the queue, while the gate is held."""
    async with connection.transaction():
        if await _paused(connection, queue):
            return Claim([])
        integration = policies.integrations[queue.integration] if queue.integration else None
        allowance = Allowance(limit, None)
        if integration is not None:
            allowance = await _read_allowance(connection, policies, integration, limit)
        if allowance.jobs == 0:
            return Claim([], allowance.retry_after_seconds)
        rows = await take(allowance.jobs)
        if integration is not None and rows:
            await _spend(connection, integration, allowance, len(rows), queue)
    return Claim(leases_of(rows, probe=allowance.half_open), allowance.retry_after_seconds)


async def _paused(connection: Connection, queue: QueuePolicy) -> bool:
    return bool(await connection.fetchval(JOBS["lock_queue"], queue.name))


async def _read_allowance(
    connection: Connection, policies: Policies, integration: IntegrationPolicy, limit: int
) -> Allowance:
    gate = await connection.fetchrow(INTEGRATIONS["lock_integration"], integration.name)
    if gate is None:
        return Allowance(0, None)
    running = await connection.fetchval(INTEGRATIONS["count_running"], policies.queues_of(integration.name))
    state = IntegrationState(
        tokens=gate["tokens"],
        seconds_since_refill=gate["seconds_since_refill"],
        breaker=BreakerState(gate["breaker"]),
        seconds_since_change=gate["seconds_since_change"],
        # A probe whose worker died runs no more; its place need not wait for the clock.
        probe_pending=gate["probe_pending"] and running > 0,
        running=running,
    )
    return allow(integration, state, limit)


async def _claim(
    connection: Connection,
    worker_id: UUID,
    queue: QueuePolicy,
    turns: Sequence[Turn],
    limit: int,
    lease_seconds: float,
) -> list[asyncpg.Record]:
    if queue.tenant_lane:
        return await connection.fetch(
            LEASES["claim_tenant_lane"],
            worker_id,
            queue.name,
            limit,
            lease_seconds,
            queue.tenant_running_max,
            queue.fair_tenants,
            turns[-1].lane.priority,
        )
    return await claim_lanes(connection, worker_id, turns, limit, lease_seconds)


async def _spend(
    connection: Connection,
    integration: IntegrationPolicy,
    allowance: Allowance,
    claimed: int,
    queue: QueuePolicy,
) -> None:
    left = None if allowance.tokens is None else allowance.tokens - claimed
    # A probe that dies without an outcome frees its place when its attempt could not be running any more.
    probe_seconds = queue.hard_limit_seconds + 10.0
    await connection.execute(
        INTEGRATIONS["spend_tokens"], integration.name, left, allowance.half_open, probe_seconds
    )

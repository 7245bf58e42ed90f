"""A lane: the jobs of one class in one queue, oldest first. A turn: how many of them are to be taken now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import asyncpg

from quire.jobs.infrastructure.postgres.sql import load
from quire.runtime.database import Connection

SQL = load("leases.sql")


class Lane(NamedTuple):
    queue: str
    priority: int


class Turn(NamedTuple):
    lane: Lane
    jobs: int


async def claim_lanes(
    connection: Connection, worker_id: UUID, turns: Sequence[Turn], limit: int, lease_seconds: float
) -> list[asyncpg.Record]:
    return await connection.fetch(
        SQL["claim_lanes"],
        worker_id,
        [turn.lane.queue for turn in turns],
        [turn.lane.priority for turn in turns],
        [turn.jobs for turn in turns],
        limit,
        lease_seconds,
    )

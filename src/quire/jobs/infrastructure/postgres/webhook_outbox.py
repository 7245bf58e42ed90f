"""Due deliveries on Postgres: claimed by one courier at a time, settled under their fence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import asyncpg

from quire.jobs.domain.webhooks.webhook import Settlement, WebhookPolicy
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.webhooks.webhook_outbox import DueDelivery
from quire.runtime.database import Database

SQL = load("webhooks.sql")
ERROR_MAX = 500


class PostgresWebhookOutbox:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(
        self, courier_id: UUID, limit: int, held: Mapping[UUID, int], policy: WebhookPolicy
    ) -> Sequence[DueDelivery]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(
                SQL["claim_deliveries"],
                courier_id,
                limit,
                policy.in_flight_per_subscription,
                list(held),
                list(held.values()),
                policy.lease_seconds,
            )
        return [_due(row) for row in rows]

    async def settle(
        self, courier_id: UUID, settlements: Sequence[Settlement], policy: WebhookPolicy
    ) -> Mapping[UUID, str]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(
                SQL["settle_deliveries"],
                courier_id,
                [item.delivery_id for item in settlements],
                [item.fence for item in settlements],
                [str(item.state) for item in settlements],
                [item.delay_seconds for item in settlements],
                [item.reply.status for item in settlements],
                [_storable(item.reply.error) for item in settlements],
                [item.reply.elapsed_ms for item in settlements],
                policy.disable_after_dead,
                [item.gone for item in settlements],
            )
        return {row["id"]: row["disabled_reason"] for row in rows}

    async def hand_back(self, courier_id: UUID, deliveries: Sequence[DueDelivery]) -> None:
        ids, fences = [item.id for item in deliveries], [item.fence for item in deliveries]
        async with self._database.acquire() as connection:
            await connection.execute(SQL["hand_back_deliveries"], courier_id, ids, fences)

    async def prune(self, days: float, limit: int) -> int:
        async with self._database.acquire() as connection:
            settled = await connection.execute(SQL["prune_deliveries"], days, limit)
            orphans = await connection.execute(SQL["prune_orphans"], limit)
        return int(settled.split()[-1]) + int(orphans.split()[-1])


def _due(row: asyncpg.Record) -> DueDelivery:
    sealed = tuple(secret for secret in (row["secret"], row["previous_secret"]) if secret is not None)
    return DueDelivery(
        id=row["id"],
        subscription_id=row["subscription_id"],
        event_type=row["event_type"],
        attempt=row["attempt"],
        fence=row["fence"],
        url=row["url"],
        sealed_secrets=sealed,
        payload=row["payload"],
    )


def _storable(error: str | None) -> str | None:
    """A receiver's bytes may stand in a protocol error; a NUL among them could not be stored."""
    return "".join(c if c.isprintable() else " " for c in error[:ERROR_MAX]) if error else None

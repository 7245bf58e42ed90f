"""Subscriptions and the delivery log on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from quire.jobs.domain.webhooks.webhook import Delivery, DeliveryState, Subscription
from quire.jobs.domain.webhooks.webhook_errors import (
    DeliveryNotFoundError,
    WebhookDisabledError,
    WebhookLimitError,
    WebhookNotFoundError,
)
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.webhooks.webhook_book import (
    LogPosition,
    NewSubscription,
    SealedSecrets,
    SubscriptionChange,
)
from quire.kernel import new_uuid7
from quire.runtime.database import Connection, Database

SQL = load("webhooks.sql")


class PostgresWebhookBook:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, new: NewSubscription, tenant_max: int) -> Subscription:
        async with self._database.acquire() as connection:
            row = await connection.fetchrow(
                SQL["add_subscription"],
                new.id,
                new.tenant_id,
                new.url,
                new.description,
                list(new.event_types),
                list(new.kinds),
                new.sealed_secret,
                new.created_by,
                tenant_max,
            )
        if row is None:
            raise WebhookLimitError(f"a tenant has at most {tenant_max} webhooks")
        return _subscription(row)

    async def get(self, subscription_id: UUID, tenant_id: str | None) -> Subscription:
        async with self._database.acquire() as connection:
            return await self._get(connection, subscription_id, tenant_id)

    async def _get(
        self, connection: Connection, subscription_id: UUID, tenant_id: str | None
    ) -> Subscription:
        row = await connection.fetchrow(SQL["get_subscription"], subscription_id, tenant_id)
        return _found(row)

    async def page(self, tenant_id: str | None, before_id: UUID | None, limit: int) -> Sequence[Subscription]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["list_subscriptions"], tenant_id, before_id, limit)
        return [_subscription(row) for row in rows]

    async def change(
        self, subscription_id: UUID, tenant_id: str | None, change: SubscriptionChange
    ) -> Subscription:
        async with self._database.acquire() as connection:
            row = await connection.fetchrow(
                SQL["change_subscription"],
                subscription_id,
                tenant_id,
                change.url,
                change.description,
                None if change.event_types is None else list(change.event_types),
                None if change.kinds is None else list(change.kinds),
                change.enabled,
            )
        return _found(row)

    async def remove(self, subscription_id: UUID, tenant_id: str | None) -> None:
        async with self._database.acquire() as connection:
            if await connection.fetchval(SQL["remove_subscription"], subscription_id, tenant_id) is None:
                raise WebhookNotFoundError()

    async def rotate(
        self, subscription_id: UUID, tenant_id: str | None, sealed_secret: bytes, overlap_seconds: float
    ) -> Subscription:
        async with self._database.acquire() as connection:
            row = await connection.fetchrow(
                SQL["rotate_secret"], subscription_id, tenant_id, sealed_secret, overlap_seconds
            )
        return _found(row)

    async def sealed_secrets(self, after_id: UUID | None, limit: int) -> Sequence[SealedSecrets]:
        async with self._database.acquire() as connection:
            rows = await connection.fetch(SQL["list_sealed_secrets"], after_id, limit)
        return [SealedSecrets(row["id"], row["secret"], row["previous_secret"]) for row in rows]

    async def replace_sealed(self, old: SealedSecrets, new: SealedSecrets) -> bool:
        sealed = (old.secret, old.previous_secret, new.secret, new.previous_secret)
        async with self._database.acquire() as connection:
            replaced = await connection.fetchval(SQL["replace_sealed_secrets"], old.subscription_id, *sealed)
        return replaced is not None

    async def add_test(self, subscription_id: UUID, tenant_id: str | None, actor: str) -> Delivery:
        async with self._database.transaction() as connection:
            await self._enabled(connection, subscription_id, tenant_id)
            row = await connection.fetchrow(
                SQL["add_test_delivery"], new_uuid7(), subscription_id, tenant_id, actor
            )
        return _delivery(row)

    async def deliveries(
        self,
        subscription_id: UUID,
        tenant_id: str | None,
        state: DeliveryState | None,
        before: LogPosition | None,
        limit: int,
    ) -> Sequence[Delivery]:
        position = (before.created_at, before.id) if before else (None, None)
        async with self._database.acquire() as connection:
            await self._get(connection, subscription_id, tenant_id)
            rows = await connection.fetch(SQL["list_deliveries"], subscription_id, state, *position, limit)
        return [_delivery(row) for row in rows]

    async def redeliver(self, subscription_id: UUID, tenant_id: str | None, delivery_id: UUID) -> Delivery:
        async with self._database.transaction() as connection:
            await self._enabled(connection, subscription_id, tenant_id)
            row = await connection.fetchrow(SQL["redeliver"], delivery_id, subscription_id)
            if row is None:
                row = await connection.fetchrow(SQL["get_delivery"], delivery_id, subscription_id)
        if row is None:
            raise DeliveryNotFoundError()
        return _delivery(row)

    async def _enabled(self, connection: Connection, subscription_id: UUID, tenant_id: str | None) -> None:
        found = await self._get(connection, subscription_id, tenant_id)
        if found.disabled_at is not None:
            raise WebhookDisabledError("enable it first; until then nothing is sent")


def _found(row: asyncpg.Record | None) -> Subscription:
    if row is None:
        raise WebhookNotFoundError()
    return _subscription(row)


def _subscription(row: asyncpg.Record) -> Subscription:
    values = dict(row)
    return Subscription(
        **{**values, "event_types": tuple(values["event_types"]), "kinds": tuple(values["kinds"])}
    )


def _delivery(row: asyncpg.Record | None) -> Delivery:
    if row is None:  # disabled or removed between two statements of one call
        raise WebhookDisabledError()
    return Delivery(**{**row, "state": DeliveryState(row["state"])})

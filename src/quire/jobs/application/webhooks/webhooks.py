"""Looking after a tenant's subscriptions and their delivery log: each is one call, for its operators."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from quire.jobs.domain.webhooks.webhook import Delivery, DeliveryState, Subscription
from quire.jobs.ports.v1.webhooks.webhook_book import LogPosition, WebhookBook
from quire.runtime.auth import Principal, requires


@requires("operator")
async def list_webhooks(
    book: WebhookBook, caller: Principal, before_id: UUID | None, limit: int
) -> Sequence[Subscription]:
    return await book.page(caller.tenant_id, before_id, limit)


@requires("operator")
async def show_webhook(book: WebhookBook, caller: Principal, subscription_id: UUID) -> Subscription:
    return await book.get(subscription_id, caller.tenant_id)


@requires("operator")
async def delete_webhook(book: WebhookBook, caller: Principal, subscription_id: UUID) -> None:
    await book.remove(subscription_id, caller.tenant_id)


@requires("operator")
async def test_webhook(book: WebhookBook, caller: Principal, subscription_id: UUID) -> Delivery:
    return await book.add_test(subscription_id, caller.tenant_id, caller.id)


@requires("operator")
async def list_deliveries(
    book: WebhookBook,
    caller: Principal,
    subscription_id: UUID,
    state: DeliveryState | None,
    before: LogPosition | None,
    limit: int,
) -> Sequence[Delivery]:
    return await book.deliveries(subscription_id, caller.tenant_id, state, before, limit)


@requires("operator")
async def redeliver_webhook(
    book: WebhookBook, caller: Principal, subscription_id: UUID, delivery_id: UUID
) -> Delivery:
    return await book.redeliver(subscription_id, caller.tenant_id, delivery_id)

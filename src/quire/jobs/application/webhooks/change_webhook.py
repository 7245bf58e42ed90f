"""Change a subscription: where, what, and whether at all."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from quire.jobs.domain.kind_pattern import check_kind_patterns
from quire.jobs.domain.webhooks.webhook import Subscription
from quire.jobs.ports.v1.webhooks.webhook_book import SubscriptionChange, WebhookBook
from quire.jobs.ports.v1.webhooks.webhook_sender import WebhookSender
from quire.runtime.auth import Principal, requires


@requires("operator")
async def change_webhook(
    book: WebhookBook,
    sender: WebhookSender,
    caller: Principal,
    subscription_id: UUID,
    change: SubscriptionChange,
    known_kinds: Collection[str],
) -> Subscription:
    await book.get(subscription_id, caller.tenant_id)
    check_kind_patterns(change.kinds or (), known_kinds)
    if change.url is not None:
        await sender.check(change.url)
    return await book.change(subscription_id, caller.tenant_id, change)

"""A new secret for a subscription; the one so far signs beside it until the overlap is over."""

from __future__ import annotations

from uuid import UUID

from quire.jobs.domain.webhooks.webhook import Subscription
from quire.jobs.domain.webhooks.webhook_signature import new_secret
from quire.jobs.ports.v1.webhooks.secret_box import SecretBox
from quire.jobs.ports.v1.webhooks.webhook_book import WebhookBook
from quire.runtime.auth import Principal, requires


@requires("operator")
async def rotate_webhook_secret(
    book: WebhookBook, box: SecretBox, caller: Principal, subscription_id: UUID, overlap_seconds: float
) -> tuple[Subscription, str]:
    """No overlap for a secret that leaked: the old one stops signing with the next message."""
    secret = new_secret()
    sealed = box.seal(secret, str(subscription_id))
    rotated = await book.rotate(subscription_id, caller.tenant_id, sealed, overlap_seconds)
    return rotated, secret

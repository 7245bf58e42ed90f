"""Subscribe to events. The secret is in the answer and nowhere else in clear."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from quire.jobs.domain.kind_pattern import check_kind_patterns
from quire.jobs.domain.webhooks.webhook import Subscription
from quire.jobs.domain.webhooks.webhook_signature import new_secret
from quire.jobs.ports.v1.webhooks.secret_box import SecretBox
from quire.jobs.ports.v1.webhooks.webhook_book import NewSubscription, WebhookBook
from quire.jobs.ports.v1.webhooks.webhook_sender import WebhookSender
from quire.kernel import new_uuid7
from quire.runtime.auth import Principal, requires


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    url: str
    description: str
    event_types: Sequence[str]
    kinds: Sequence[str]


@requires("operator")
async def create_webhook(
    book: WebhookBook,
    sender: WebhookSender,
    box: SecretBox,
    caller: Principal,
    request: WebhookRequest,
    tenant_max: int,
    known_kinds: Collection[str],
) -> tuple[Subscription, str]:
    """Checked now so that a mistake is told at once; checked again before every message, since names move."""
    check_kind_patterns(request.kinds, known_kinds)
    await sender.check(request.url)
    subscription_id, secret = new_uuid7(), new_secret()
    new = NewSubscription(
        id=subscription_id,
        tenant_id=caller.tenant_id,
        url=request.url,
        description=request.description,
        event_types=tuple(dict.fromkeys(request.event_types)),
        kinds=tuple(dict.fromkeys(request.kinds)),
        sealed_secret=box.seal(secret, str(subscription_id)),
        created_by=caller.id,
    )
    return await book.add(new, tenant_max), secret

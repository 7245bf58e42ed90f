"""`/webhooks`: subscriptions to job events of the caller's tenant, and their delivery log. For operators."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from quire.jobs.application.webhooks.change_webhook import change_webhook
from quire.jobs.application.webhooks.create_webhook import WebhookRequest, create_webhook
from quire.jobs.application.webhooks.rotate_webhook_secret import rotate_webhook_secret
from quire.jobs.application.webhooks.webhooks import (
    delete_webhook,
    list_deliveries,
    list_webhooks,
    redeliver_webhook,
    show_webhook,
    test_webhook,
)
from quire.jobs.domain.webhooks.webhook import Delivery, DeliveryState, WebhookPolicy
from quire.jobs.ports.v1.webhooks.secret_box import SecretBox
from quire.jobs.ports.v1.webhooks.webhook_book import LogPosition, SubscriptionChange, WebhookBook
from quire.jobs.ports.v1.webhooks.webhook_sender import WebhookSender
from quire.jobs.presentation.schemas.webhook import (
    DeliveryView,
    RotationBody,
    WebhookChangeBody,
    WebhookRequestBody,
    WebhookSecretView,
    WebhookView,
)
from quire.kernel import InvalidInputError
from quire.runtime.auth import Principal
from quire.runtime.http import (
    Page,
    PageCursor,
    PageLimit,
    StrictRoute,
    allowed,
    decode_cursor,
    encode_cursor,
)
from quire.runtime.http.position import before_id, next_cursor

StateFilter = Annotated[DeliveryState | None, Query(description="Only those in this state.")]


@dataclass(frozen=True, slots=True)
class WebhookDesk:
    """What these routes work with; wired by the entrypoint."""

    book: WebhookBook
    sender: WebhookSender
    box: SecretBox
    policy: WebhookPolicy
    kinds: frozenset[str]


def webhook_routes(desk: WebhookDesk) -> APIRouter:
    router = APIRouter(tags=["webhooks"], route_class=StrictRoute)
    _add_subscription_routes(router, desk)
    _add_delivery_routes(router, desk)
    return router


def _add_subscription_routes(router: APIRouter, desk: WebhookDesk) -> None:
    @router.post("/webhooks", status_code=201, name="create_webhook")
    async def create(
        caller: Annotated[Principal, allowed(create_webhook)], request: WebhookRequestBody
    ) -> WebhookSecretView:
        """The answer holds the signing secret; nothing can show it again."""
        wanted = WebhookRequest(**request.model_dump())
        limit = desk.policy.subscriptions_per_tenant
        created, secret = await create_webhook(
            desk.book, desk.sender, desk.box, caller, wanted, limit, desk.kinds
        )
        return _with_secret(WebhookView.model_validate(created), secret)

    @router.get("/webhooks", name="list_webhooks")
    async def list_(
        caller: Annotated[Principal, allowed(list_webhooks)], limit: PageLimit = 50, cursor: PageCursor = None
    ) -> Page[WebhookView]:
        found = await list_webhooks(desk.book, caller, before_id(cursor), limit)
        return Page(
            items=[WebhookView.model_validate(item) for item in found], next_cursor=next_cursor(found, limit)
        )

    @router.get("/webhooks/{webhook_id}", name="show_webhook")
    async def show(caller: Annotated[Principal, allowed(show_webhook)], webhook_id: UUID) -> WebhookView:
        return WebhookView.model_validate(await show_webhook(desk.book, caller, webhook_id))

    @router.patch("/webhooks/{webhook_id}", name="change_webhook")
    async def change(
        caller: Annotated[Principal, allowed(change_webhook)], webhook_id: UUID, request: WebhookChangeBody
    ) -> WebhookView:
        """Enabling sends what was still owed when it was disabled."""
        values = request.model_dump()
        for name in ("event_types", "kinds"):
            values[name] = None if values[name] is None else tuple(dict.fromkeys(values[name]))
        changed = await change_webhook(
            desk.book, desk.sender, caller, webhook_id, SubscriptionChange(**values), desk.kinds
        )
        return WebhookView.model_validate(changed)

    @router.delete("/webhooks/{webhook_id}", status_code=204, name="delete_webhook")
    async def delete(caller: Annotated[Principal, allowed(delete_webhook)], webhook_id: UUID) -> None:
        """With its delivery log and everything still owed to it."""
        await delete_webhook(desk.book, caller, webhook_id)

    @router.post("/webhooks/{webhook_id}/rotate-secret", name="rotate_webhook_secret")
    async def rotate(
        caller: Annotated[Principal, allowed(rotate_webhook_secret)],
        webhook_id: UUID,
        request: RotationBody | None = None,
    ) -> WebhookSecretView:
        """The answer holds the new secret. Both sign until `previous_until`; an older one ends now."""
        asked = request.overlap_hours if request else None
        hours = desk.policy.overlap_hours if asked is None else asked
        rotated, secret = await rotate_webhook_secret(desk.book, desk.box, caller, webhook_id, hours * 3600)
        return _with_secret(WebhookView.model_validate(rotated), secret)


def _add_delivery_routes(router: APIRouter, desk: WebhookDesk) -> None:
    @router.post("/webhooks/{webhook_id}/test", status_code=202, name="test_webhook")
    async def test(caller: Annotated[Principal, allowed(test_webhook)], webhook_id: UUID) -> DeliveryView:
        """Sends one `webhook.test`; the delivery log tells what came back. It is not tried again."""
        sent = await test_webhook(desk.book, caller, webhook_id)
        return DeliveryView.model_validate(sent)

    @router.get("/webhooks/{webhook_id}/deliveries", name="list_webhook_deliveries")
    async def deliveries(
        caller: Annotated[Principal, allowed(list_deliveries)],
        webhook_id: UUID,
        state: StateFilter = None,
        limit: PageLimit = 50,
        cursor: PageCursor = None,
    ) -> Page[DeliveryView]:
        """Newest first."""
        found = await list_deliveries(desk.book, caller, webhook_id, state, _position(cursor), limit)
        return Page(
            items=[DeliveryView.model_validate(item) for item in found],
            next_cursor=_cursor(found[-1]) if len(found) == limit else None,
        )

    @router.post(
        "/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", status_code=202, name="redeliver_webhook"
    )
    async def redeliver(
        caller: Annotated[Principal, allowed(redeliver_webhook)], webhook_id: UUID, delivery_id: UUID
    ) -> DeliveryView:
        """The same message under the same `webhook-id`, with a fresh timestamp and signature."""
        again = await redeliver_webhook(desk.book, caller, webhook_id, delivery_id)
        return DeliveryView.model_validate(again)


def _with_secret(view: WebhookView, secret: str) -> WebhookSecretView:
    return WebhookSecretView(**view.model_dump(), secret=secret)


def _cursor(last: Delivery) -> str:
    return encode_cursor(last.created_at.isoformat(), str(last.id))


def _position(cursor: str | None) -> LogPosition | None:
    if cursor is None:
        return None
    created_at, delivery_id = decode_cursor(cursor, str, str)
    try:
        at = datetime.fromisoformat(str(created_at))
        if at.tzinfo is None:
            raise ValueError
        return LogPosition(at, UUID(str(delivery_id)))
    except ValueError:
        raise InvalidInputError("the cursor is not one this list gave", code="CURSOR_INVALID") from None

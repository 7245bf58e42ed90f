"""Wires the outgoing webhooks: routes for the API, a courier for every worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import structlog

from quire.entrypoints.engine import Engine
from quire.entrypoints.shipped import shipped_dir
from quire.jobs.application.webhooks.courier import Courier, CourierParts
from quire.jobs.domain.webhooks.webhook import WebhookPolicy
from quire.jobs.infrastructure.encryption.secret_box import AesGcmSecretBox
from quire.jobs.infrastructure.http.webhook_sender import HttpWebhookSender
from quire.jobs.infrastructure.postgres.webhook_book import PostgresWebhookBook
from quire.jobs.infrastructure.postgres.webhook_outbox import PostgresWebhookOutbox
from quire.jobs.infrastructure.yaml.webhook_policy import load_webhook_policy
from quire.runtime.settings import Settings

if TYPE_CHECKING:
    from quire.jobs.presentation.routes.webhooks import WebhookDesk

log = structlog.get_logger(__name__)


def webhook_desk(engine: Engine, settings: Settings) -> WebhookDesk:
    # The web framework is the API process's to load, not the courier's.
    from quire.jobs.presentation.routes.webhooks import WebhookDesk

    policy = _policy(settings)
    return WebhookDesk(
        book=PostgresWebhookBook(engine.database),
        sender=_sender(settings, policy),
        box=secret_box(settings),
        policy=policy,
        kinds=frozenset(handler.kind for handler in engine.handlers),
    )


@asynccontextmanager
async def courier_running(
    engine: Engine, settings: Settings, on_death: Callable[[], None]
) -> AsyncIterator[None]:
    """Enter before the broker starts. Without QUIRE_SECRET_KEY nothing could be signed, so nothing is sent."""
    policy, box = _policy(settings), secret_box(settings)
    if not box.usable:
        log.info("webhooks_off", reason="QUIRE_SECRET_KEY is not set")
        yield
        return
    sender = _sender(settings, policy)
    parts = CourierParts(PostgresWebhookOutbox(engine.database), sender, box, engine.broker)
    courier = Courier(uuid4(), parts, policy, poll_seconds=settings.poll_seconds)
    task = asyncio.create_task(courier.run(), name="courier")
    task.add_done_callback(lambda ended: _ended(ended, on_death))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await sender.close()


def _ended(task: asyncio.Task[None], on_death: Callable[[], None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("loop_died", loop="courier", exc_info=task.exception())
        on_death()


def _policy(settings: Settings) -> WebhookPolicy:
    return load_webhook_policy(settings.config_dir or shipped_dir("config"))


def secret_box(settings: Settings) -> AesGcmSecretBox:
    return AesGcmSecretBox(
        settings.secret_key.get_secret_value(), settings.secret_key_accepted.get_secret_value()
    )


def _sender(settings: Settings, policy: WebhookPolicy) -> HttpWebhookSender:
    return HttpWebhookSender(
        timeout_seconds=policy.timeout_seconds,
        allow_private=settings.allow_private_webhooks,
        connections_max=policy.in_flight_max,
    )

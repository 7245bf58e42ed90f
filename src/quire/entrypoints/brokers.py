"""Wires who wakes workers, by the scheme of QUIRE_BROKER_URL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import structlog

from quire.jobs import Broker
from quire.jobs.application.brokers.inbox import Inbox
from quire.jobs.application.brokers.message_broker import MessageBroker
from quire.jobs.application.brokers.republisher import Republisher
from quire.jobs.infrastructure.postgres.broker import PostgresBroker
from quire.jobs.infrastructure.postgres.outbox import PostgresOutbox
from quire.jobs.ports.v1.messenger import Messenger
from quire.runtime.database import Database
from quire.runtime.settings import Settings, SettingsError

if TYPE_CHECKING:
    from quire.entrypoints.engine import Engine

NAMES = {
    "postgres": "Postgres",
    "postgresql": "Postgres",
    "redis": "Dramatiq on Redis",
    "rediss": "Dramatiq on Redis",
    "amqp": "Dramatiq on RabbitMQ",
    "amqps": "Dramatiq on RabbitMQ",
    "rq+redis": "RQ on Redis",
    "rq+rediss": "RQ on Redis",
}

log = structlog.get_logger(__name__)


def broker_url(settings: Settings) -> str:
    return settings.broker_url.get_secret_value()


def broker_scheme(settings: Settings) -> str:
    scheme = broker_url(settings).partition(":")[0]
    if scheme not in NAMES:
        raise SettingsError(f"QUIRE_BROKER_URL: no broker for {scheme[:20]}://; there are {', '.join(NAMES)}")
    return scheme


def broker_name(settings: Settings) -> str:
    return NAMES[broker_scheme(settings)]


def open_messenger(settings: Settings) -> Messenger | None:
    """None where Postgres wakes workers. The libraries are loaded by who uses them."""
    scheme = broker_scheme(settings)
    if scheme.startswith("postgres"):
        return None
    if scheme.startswith("rq+"):
        from quire.jobs.infrastructure.rq.messenger import RqMessenger

        return RqMessenger(broker_url(settings).removeprefix("rq+"))
    from quire.jobs.infrastructure.dramatiq.messenger import open_messenger

    return open_messenger(broker_url(settings))


def open_broker(
    settings: Settings, database: Database, listen_dsn: str, inbox: Inbox | None = None
) -> Broker:
    postgres = PostgresBroker(database, listen_dsn, poll_only=settings.poll_only)
    messenger = open_messenger(settings)
    if messenger is None:
        return postgres
    required = settings.broker_required
    if required is None:
        required = broker_scheme(settings).startswith("rq+")
    return MessageBroker(messenger, postgres, required=required, inbox=inbox)


@asynccontextmanager
async def republisher_running(
    engine: Engine, settings: Settings, on_death: Callable[[], None]
) -> AsyncIterator[None]:
    """Beside every worker of a broker that can lose messages; one of them at a time does the work."""
    if not isinstance(engine.broker, MessageBroker):
        yield
        return
    republisher = Republisher(
        uuid4(),
        engine.registry,
        PostgresOutbox(engine.database),
        engine.broker,
        engine.policies.queues.matching(["*"]),
        settings.republish_seconds,
    )
    task = asyncio.create_task(republisher.run(), name="republisher")
    task.add_done_callback(lambda ended: _ended(ended, on_death))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _ended(task: asyncio.Task[None], on_death: Callable[[], None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("loop_died", loop="republisher", exc_info=task.exception())
        on_death()

"""Opens Dramatiq's broker by its URL. Every connection fails within seconds instead of waiting for a dead server."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.brokers.redis import RedisBroker

from quire.jobs.infrastructure.redis.client import TIMEOUT_SECONDS, open_redis

HEARTBEAT_SECONDS = 20

# RabbitMQ's connections take their limits from the query of the URL.
AMQP_LIMITS = {
    "heartbeat": str(HEARTBEAT_SECONDS),
    "socket_timeout": str(TIMEOUT_SECONDS),
    "stack_timeout": str(TIMEOUT_SECONDS),
    "blocked_connection_timeout": str(TIMEOUT_SECONDS),
    "connection_attempts": "1",
}


def open_dramatiq(url: str, middleware: Sequence[dramatiq.Middleware]) -> dramatiq.Broker:
    """`redis://`, `rediss://`, `amqp://` or `amqps://`. Connects with the first call, not here."""
    if urlsplit(url).scheme in ("amqp", "amqps"):
        return RabbitmqBroker(url=_limited(url), middleware=list(middleware))
    return RedisBroker(client=open_redis(url), middleware=list(middleware))  # type: ignore[no-untyped-call]


def knock(broker: dramatiq.Broker) -> None:
    """OSError when nobody listens. pika finds that out, too, but leaves sockets behind each time."""
    if isinstance(broker, RabbitmqBroker):
        address = (broker.parameters.host, broker.parameters.port)
        socket.create_connection(address, timeout=TIMEOUT_SECONDS).close()


def _limited(url: str) -> str:
    """What the operator's own URL says stands."""
    parts = urlsplit(url)
    query = {**AMQP_LIMITS, **dict(parse_qsl(parts.query))}
    return urlunsplit(parts._replace(query=urlencode(query)))

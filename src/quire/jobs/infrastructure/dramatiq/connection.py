"""Opens Dramatiq's broker by its URL. Every connection fails within seconds instead of waiting for a dead server."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any
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
    """`redis://`, `rediss://`, `amqp://` or `amqps://`; several nodes of RabbitMQ with `;` between them. Connects with
    the first call, not here."""
    if urlsplit(url).scheme in ("amqp", "amqps"):
        nodes = [_limited(node) for node in url.split(";")]
        return RabbitmqBroker(url=nodes if len(nodes) > 1 else nodes[0], middleware=list(middleware))
    return RedisBroker(client=open_redis(url), middleware=list(middleware))  # type: ignore[no-untyped-call]


def knock(broker: dramatiq.Broker) -> None:
    """OSError when nobody listens. pika finds that out, too, but leaves sockets behind each time."""
    failure: OSError | None = None
    for host, port in _addresses(broker):
        try:
            socket.create_connection((host, port), timeout=TIMEOUT_SECONDS).close()
            return
        except OSError as error:
            failure = error
    if failure is not None:
        raise failure


def _addresses(broker: dramatiq.Broker) -> list[tuple[str, int]]:
    """None for Redis, whose client needs no such care."""
    if not isinstance(broker, RabbitmqBroker):
        return []
    nodes: Any = broker.parameters
    return [(node.host, node.port) for node in (nodes if isinstance(nodes, list) else [nodes])]


def _limited(url: str) -> str:
    """What the operator's own URL says stands."""
    parts = urlsplit(url)
    query = {**AMQP_LIMITS, **dict(parse_qsl(parts.query))}
    return urlunsplit(parts._replace(query=urlencode(query)))

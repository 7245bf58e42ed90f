"""A Redis client that fails within seconds instead of waiting for a dead server."""

from __future__ import annotations

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

TIMEOUT_SECONDS = 3.0
# One repetition: a connection that the server closed while it lay idle is replaced.
ONCE_MORE = Retry(NoBackoff(), 1)


def open_redis(url: str, *, read_seconds: float = TIMEOUT_SECONDS) -> redis.Redis:
    """`redis://` or `rediss://`. Connects with the first call, not here."""
    return redis.Redis.from_url(
        url, socket_connect_timeout=TIMEOUT_SECONDS, socket_timeout=read_seconds, retry=ONCE_MORE
    )

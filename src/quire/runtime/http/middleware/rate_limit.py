"""A token bucket for every API token in this process, told to the caller in RateLimit-* headers.

Cluster-wide limits on work belong to the job engine's throttle; this one keeps a single caller from
taking the whole API process.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.kernel import RateLimitedError
from quire.runtime.auth import Principal
from quire.runtime.http.problem_json import problem_response

REMEMBERED_BUCKETS = 10_000


class Bucket:
    """Holds up to a minute's requests and refills steadily, so a burst of that size passes."""

    __slots__ = ("_at", "_per_second", "_size", "level")

    def __init__(self, per_minute: int, now: float) -> None:
        self._size = per_minute
        self._per_second = per_minute / 60
        self._at = now
        self.level = float(per_minute)

    def take(self, now: float) -> bool:
        self.level = min(self._size, self.level + (now - self._at) * self._per_second)
        self._at = now
        if self.level < 1:
            return False
        self.level -= 1
        return True

    def seconds_until(self, level: float) -> int:
        return max(0, math.ceil((level - self.level) / self._per_second))


class RateLimit:
    def __init__(
        self, app: ASGIApp, per_minute: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal: Principal | None = scope.get("state", {}).get("principal")
        if principal is None:
            await self._app(scope, receive, send)
            return
        bucket = self._bucket(principal.token_id)
        allowed = bucket.take(self._monotonic())
        tell = _telling(send, self._headers(bucket))
        if allowed:
            await self._app(scope, receive, tell)
        else:
            await _refuse(bucket)(scope, receive, tell)

    def _bucket(self, token_id: str) -> Bucket:
        bucket = self._buckets.get(token_id)
        if bucket is None:
            bucket = self._buckets[token_id] = Bucket(self._per_minute, self._monotonic())
        self._buckets.move_to_end(token_id)
        if len(self._buckets) > REMEMBERED_BUCKETS:
            self._buckets.popitem(last=False)
        return bucket

    def _headers(self, bucket: Bucket) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self._per_minute),
            "RateLimit-Remaining": str(int(bucket.level)),
            "RateLimit-Reset": str(bucket.seconds_until(self._per_minute)),
        }


def _refuse(bucket: Bucket) -> ASGIApp:

    return problem_response(
        RateLimitedError(
            "too many requests with this token", extra={"retry_after_seconds": bucket.seconds_until(1)}
        )
    )


def _telling(send: Send, told: dict[str, str]) -> Send:
    async def tell(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(told)
        await send(message)

    return tell

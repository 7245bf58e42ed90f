"""A limit on every request body, declared or streamed. A path may have its own; None lifts it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.kernel import TooLargeError


@dataclass(frozen=True, slots=True)
class BodyLimitRule:
    method: str
    path: re.Pattern[str]
    limit_bytes: int | None

    def applies_to(self, scope: Scope) -> bool:
        return scope["method"] == self.method and self.path.fullmatch(scope["path"]) is not None


class BodyLimit:
    def __init__(self, app: ASGIApp, default_bytes: int, rules: Sequence[BodyLimitRule] = ()) -> None:
        self._app = app
        self._default_bytes = default_bytes
        self._rules = tuple(rules)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = self._limit_of(scope) if scope["type"] == "http" else None
        if limit is None:
            await self._app(scope, receive, send)
            return
        if _declared_bytes(scope) > limit:
            raise _too_large(limit)
        await self._app(scope, _counted(receive, limit), send)

    def _limit_of(self, scope: Scope) -> int | None:
        for rule in self._rules:
            if rule.applies_to(scope):
                return rule.limit_bytes
        return self._default_bytes


def _counted(receive: Receive, limit: int) -> Receive:
    """Chunked bodies declare nothing, so the bytes are counted as they come."""
    seen = 0

    async def count() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise _too_large(limit)
        return message

    return count


def _declared_bytes(scope: Scope) -> int:
    declared = Headers(scope=scope).get("content-length", "")
    return int(declared) if declared.isascii() and declared.isdigit() else 0


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"a body here has at most {limit} bytes", extra={"limit_bytes": limit})

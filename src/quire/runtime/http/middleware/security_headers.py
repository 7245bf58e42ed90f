"""Headers every answer has unless its handler chose otherwise: no sniffing, caching, framing or scripts."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

# As they go to the server: names in small letters.
DEFAULTS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; sandbox"),
    (b"x-frame-options", b"DENY"),
)


class SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guard(message: Message) -> None:
            if message["type"] == "http.response.start":
                chosen = {name for name, _ in message["headers"]}
                left = [header for header in DEFAULTS if header[0] not in chosen]
                message["headers"] = [*message["headers"], *left]
            await send(message)

        await self._app(scope, receive, guard if scope["type"] == "http" else send)

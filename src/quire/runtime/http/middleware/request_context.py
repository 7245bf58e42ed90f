"""Names every request: X-Request-Id and traceparent in, checked; both out; and both in its log lines."""

from __future__ import annotations

import re

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.kernel import InvalidInputError, new_uuid7
from quire.runtime.http.problem_json import problem_response
from quire.runtime.telemetry import start_span

# Anything else could break a log line or a header of somebody downstream.
REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)


class RequestContext:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers.get("x-request-id"))
        with (
            start_span(f"HTTP {scope['method']}", headers.get("traceparent")) as span,
            structlog.contextvars.bound_contextvars(request_id=request_id),
        ):

            async def name(message: Message) -> None:
                if message["type"] == "http.response.start":
                    names = (b"x-request-id", request_id), (b"traceparent", span.traceparent)
                    message["headers"] = [*message["headers"], *((key, text.encode()) for key, text in names)]
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            await self._serve(scope, receive, name)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _holds_nul(scope):
            error = InvalidInputError("the URL holds a NUL", code="TEXT_NOT_STORABLE")
            await problem_response(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _request_id(given: str | None) -> str:
    return given if given and REQUEST_ID.fullmatch(given) else str(new_uuid7())


def _holds_nul(scope: Scope) -> bool:
    """No text column can store it, so no lookup by it can be meant."""
    return "\x00" in scope["path"] or b"%00" in scope["query_string"]

"""The last line: whatever escapes becomes a problem. The unforeseen is logged whole and answered bare."""

from __future__ import annotations

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.kernel import QuireError
from quire.runtime.http.problem_json import problem, problem_response, status_of

log = structlog.get_logger(__name__)


class ErrorBoundary:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception as error:
            if not isinstance(error, QuireError) or status_of(error) == 500:
                log.exception("request_failed", method=scope["method"], error_type=type(error).__name__)
            if started:
                # Half an answer is out: only a broken connection tells the client so.
                raise
            await _response(error)(scope, receive, send)


def _response(error: Exception) -> ASGIApp:
    if isinstance(error, QuireError):
        return problem_response(error)
    return problem(500, QuireError.code, QuireError.title)

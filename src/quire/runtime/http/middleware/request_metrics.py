"""Counts and times requests by route template, never by raw path: a path is the caller's to invent."""

from __future__ import annotations

import time

import structlog
from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quire.runtime.telemetry import REGISTRY

REQUESTS = Counter(
    "quire_http_requests", "Requests answered.", ["method", "route", "status"], registry=REGISTRY
)
SECONDS = Histogram(
    "quire_http_request_seconds",
    "Time from request to end of answer.",
    ["method", "route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=REGISTRY,
)

KNOWN_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

log = structlog.get_logger(__name__)


class RequestMetrics:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        # Stays when the client left or the answer broke off before it began.
        status = 499

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            _observe(scope, status, time.perf_counter() - began)


def _observe(scope: Scope, status: int, seconds: float) -> None:
    method = scope["method"] if scope["method"] in KNOWN_METHODS else "OTHER"
    route = getattr(scope.get("route"), "path_format", None) or "unmatched"
    REQUESTS.labels(method, route, str(status)).inc()
    SECONDS.labels(method, route).observe(seconds)
    write = log.debug if route in ("/livez", "/readyz", "/metrics") else log.info
    write("request", method=method, route=route, status=status, duration_ms=round(seconds * 1000, 2))

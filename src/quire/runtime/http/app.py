"""Assembles the HTTP application: middlewares in one order, routers passed in, closed by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

import quire
from quire.runtime.auth import Authenticator
from quire.runtime.http.exception_handlers import install_exception_handlers
from quire.runtime.http.middleware.authentication import NO_CODES, Authentication, OpenRoutes
from quire.runtime.http.middleware.body_limit import BodyLimit, BodyLimitRule
from quire.runtime.http.middleware.error_boundary import ErrorBoundary
from quire.runtime.http.middleware.rate_limit import RateLimit
from quire.runtime.http.middleware.request_context import RequestContext
from quire.runtime.http.middleware.request_metrics import RequestMetrics
from quire.runtime.http.middleware.security_headers import SecurityHeaders
from quire.runtime.http.openapi.document import openapi_document
from quire.runtime.http.openapi.route_rights import refuse_undeclared
from quire.runtime.http.routes.openapi import openapi_route
from quire.runtime.http.strict_json import StrictRoute
from quire.runtime.settings import Settings

EXPOSED_HEADERS = ("X-Request-Id", "traceparent", "Retry-After", "RateLimit-Remaining", "RateLimit-Reset")


def build_http_app(
    settings: Settings,
    *,
    authenticator: Authenticator | None,
    routers: Sequence[APIRouter],
    open_routers: Sequence[APIRouter] = (),
    body_limits: Sequence[BodyLimitRule] = (),
    outage_codes: Mapping[tuple[str, str], str] = NO_CODES,
) -> FastAPI:
    """Routes of `routers` are reached with a principal only; those of `open_routers` check theirs. Without an
    authenticator all are open. `outage_codes`: what a method and path answer with 503 when the caller cannot be looked
    up."""
    opened = [*open_routers, openapi_route()]
    open_routes = OpenRoutes(route for router in opened for route in router.routes)
    app = FastAPI(
        title="Quire",
        version=quire.__version__,
        description="Document work that must finish, exactly once.",
        # Documentation pages would load their assets from elsewhere.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        middleware=_middlewares(settings, authenticator, open_routes, body_limits, outage_codes),
    )
    install_exception_handlers(app)
    app.state.open_operations = open_routes.operations
    for router in routers:
        refuse_undeclared(router)
    for router in (*opened, *routers):
        _refuse_lax_routes(router)
        # As one flat list: an included router is searched twice a request, and more slowly.
        app.routes.extend(router.routes)
    app.openapi = cache(partial(openapi_document, app, open_routes.operations))  # type: ignore[method-assign]
    return app


def _middlewares(
    settings: Settings,
    authenticator: Authenticator | None,
    open_routes: OpenRoutes,
    body_limits: Sequence[BodyLimitRule],
    outage_codes: Mapping[tuple[str, str], str],
) -> list[Middleware]:
    """From the outside in: a name and a measure for every request, then errors become answers, then the
    gates, with a stranger refused before anything is read from them."""
    gates = [Middleware(BodyLimit, default_bytes=settings.max_body_bytes, rules=body_limits)]
    if settings.rate_limit_per_minute:
        gates.insert(0, Middleware(RateLimit, per_minute=settings.rate_limit_per_minute))
    if authenticator is not None:
        known = Middleware(
            Authentication, authenticator=authenticator, open_routes=open_routes, outage_codes=outage_codes
        )
        gates.insert(0, known)
    return [
        Middleware(RequestContext),
        Middleware(RequestMetrics),
        Middleware(SecurityHeaders),
        *_cors(settings),
        Middleware(ErrorBoundary),
        *gates,
    ]


def _cors(settings: Settings) -> list[Middleware]:
    origins = [origin.strip() for origin in settings.cors_origins.split(",") if origin.strip()]
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-Id", "traceparent"],
            expose_headers=EXPOSED_HEADERS,
        )
    ]


def _refuse_lax_routes(router: APIRouter) -> None:
    for context in iter_route_contexts(router.routes):
        route = context.original_route
        if isinstance(route, APIRoute) and route.body_field and not isinstance(route, StrictRoute):
            raise TypeError(f"{route.path}: make its router with APIRouter(route_class=StrictRoute)")

"""HTTP plumbing: the application, middlewares, problems, pages, principals. Contexts bring the routers."""

from quire.runtime.http.app import build_http_app
from quire.runtime.http.cursor import decode_cursor, encode_cursor
from quire.runtime.http.middleware.body_limit import BodyLimitRule
from quire.runtime.http.page import Page, PageCursor, PageLimit
from quire.runtime.http.principal import CurrentPrincipal, allowed
from quire.runtime.http.problem_json import problem_response
from quire.runtime.http.routes.health import health_routes
from quire.runtime.http.routes.tenants import tenant_routes
from quire.runtime.http.routes.tokens import token_routes
from quire.runtime.http.strict_json import StrictRoute

__all__ = [
    "BodyLimitRule",
    "CurrentPrincipal",
    "Page",
    "PageCursor",
    "PageLimit",
    "StrictRoute",
    "allowed",
    "build_http_app",
    "decode_cursor",
    "encode_cursor",
    "health_routes",
    "problem_response",
    "tenant_routes",
    "token_routes",
]

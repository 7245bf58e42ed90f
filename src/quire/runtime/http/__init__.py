"""HTTP plumbing: the application, middlewares, problems, pages, principals. Contexts bring the routers."""

from quire.runtime.http.app import build_http_app
from quire.runtime.http.body_limit import BodyLimitRule
from quire.runtime.http.cursor import decode_cursor, encode_cursor
from quire.runtime.http.health import health_routes
from quire.runtime.http.page import Page, PageCursor, PageLimit
from quire.runtime.http.principal import CurrentPrincipal, allowed
from quire.runtime.http.problem_json import problem_response
from quire.runtime.http.strict_json import StrictRoute
from quire.runtime.http.tenant_routes import tenant_routes
from quire.runtime.http.token_routes import token_routes

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

"""Closed by default: a request passes with a principal or to a route declared open, and no other way.

It runs before the body is read, so a stranger's megabytes are never parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fastapi.routing import iter_route_contexts
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, compile_path
from starlette.types import ASGIApp, Receive, Scope, Send

from quire.kernel import UnauthenticatedError, UnavailableError
from quire.runtime.auth import Authenticator, Principal

NO_CODES: Mapping[tuple[str, str], str] = {}


class OpenRoutes:
    """The routes that check their callers themselves (a signature, a metrics token) or need none (health)."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        paths = [(context.path, context.methods or set()) for context in iter_route_contexts(list(routes))]
        self._forms = [(compile_path(path)[0], methods) for path, methods in paths if path]
        self.operations = frozenset((method, path) for path, methods in paths if path for method in methods)

    def __contains__(self, scope: Scope) -> bool:
        return any(scope["method"] in methods and form.match(scope["path"]) for form, methods in self._forms)


class Authentication:
    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator,
        open_routes: OpenRoutes,
        outage_codes: Mapping[tuple[str, str], str] = NO_CODES,
    ) -> None:
        self._app = app
        self._outage_codes = outage_codes
        self._authenticator = authenticator
        self._open_routes = open_routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] == "http" and scope not in self._open_routes:
            scope.setdefault("state", {})["principal"] = await self._principal_of(scope)
        await self._app(scope, receive, send)

    async def _principal_of(self, scope: Scope) -> Principal:
        try:
            return await self._authenticator.authenticate(bearer_credential(Headers(scope=scope)))
        except UnavailableError as error:
            # A route may promise one code for every outage, and this one came before the route could say it.
            code = self._outage_codes.get((scope["method"], scope["path"]))
            if code is None:
                raise
            raise UnavailableError(error.detail, code=code) from error


def bearer_credential(headers: Headers) -> str:
    given = headers.getlist("authorization")
    if len(given) != 1:
        raise UnauthenticatedError("send one header `Authorization: Bearer TOKEN`")
    scheme, _, credential = given[0].partition(" ")
    if scheme.lower() != "bearer" or not credential.strip():
        raise UnauthenticatedError("send one header `Authorization: Bearer TOKEN`")
    return credential.strip()

"""What FastAPI and Starlette raise, as problems. Input values are never echoed: they may be secrets."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from quire.kernel import QuireError
from quire.runtime.http.problem_json import problem, problem_response

ERRORS_SHOWN = 20
PATH_LENGTH = 200

CODES = {404: "ROUTE_NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}
TITLES = {404: "No such route", 405: "The route does not have this method"}


def install_exception_handlers(app: FastAPI) -> None:
    app.add_exception_handler(QuireError, _on_quire_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_exception)


async def _on_quire_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, QuireError)
    return problem_response(error)


async def _on_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    extra = {"errors": _shown(error.errors())}
    return problem(422, "VALIDATION_FAILED", "The request is not valid", extra=extra)


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    # FastAPI wraps whatever reading a body raised into a 400; ours (too large, not JSON) is the true answer.
    if isinstance(error.__cause__, QuireError):
        return problem_response(error.__cause__)
    headers = error.headers
    if error.status_code == 405:
        headers = {"Allow": ", ".join(sorted(_methods_at(request)))}
    code = CODES.get(error.status_code, f"HTTP_{error.status_code}")
    title = TITLES.get(error.status_code, "The request cannot be served")
    return problem(error.status_code, code, title, headers=headers)


def _methods_at(request: Request) -> set[str]:
    """Of all routes with this path: Starlette names the methods of the first one only."""
    contexts = [context for context in iter_route_contexts(request.app.routes) if context.path]
    found = [context for context in contexts if compile_path(context.path or "")[0].match(request.url.path)]
    return {method for context in found for method in context.methods or ()}


def _shown(errors: Sequence[dict[str, object]]) -> list[dict[str, str]]:
    return [{"path": _path(item["loc"]), "message": str(item["msg"])} for item in errors[:ERRORS_SHOWN]]


def _path(location: object) -> str:
    parts = location if isinstance(location, list | tuple) else [location]
    return ".".join(map(str, parts))[:PATH_LENGTH]

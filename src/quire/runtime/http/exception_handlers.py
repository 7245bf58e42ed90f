"""What FastAPI and Starlette raise, as problems. Input values are never echoed: they may be secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from quire.kernel import QuireError, there_is
from quire.runtime.http.openapi.allowed_fields import allowed_fields
from quire.runtime.http.problem_json import problem, problem_response

ERRORS_SHOWN = 20
# In the sentence for people; the list has more.
ERRORS_TOLD = 5
PATH_LENGTH = 200
# What the validator says of a body that was not parsed.
NO_OBJECT = frozenset({"model_attributes_type", "model_type", "dict_type"})
ID_ADVICE = "the id in this path is not a UUID; one looks like 019a8c2e-6f0b-7c51-9d1c-3f6f0e9a4b11"

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
    shown = [_shown(request, item) for item in error.errors()[:ERRORS_SHOWN]]
    detail = "; ".join(f"{item['path']}: {item['message']}" for item in shown[:ERRORS_TOLD])
    more = len(error.errors()) - ERRORS_TOLD
    if more > 0:
        detail += f"; and {more} more"
    return problem(422, "VALIDATION_FAILED", "The request is not valid", detail, extra={"errors": shown})


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    # FastAPI wraps whatever reading a body raised into a 400; ours (too large, not JSON) is the true answer.
    if isinstance(error.__cause__, QuireError):
        return problem_response(error.__cause__)
    headers = error.headers
    if error.status_code == 405:
        headers = {"Allow": ", ".join(sorted(_methods_at(request)))}
    if error.status_code == 404 and _wants_id(request):
        return problem(404, "ID_INVALID", "The id is not a UUID", ID_ADVICE)
    code = CODES.get(error.status_code, f"HTTP_{error.status_code}")
    title = TITLES.get(error.status_code, "The request cannot be served")
    return problem(error.status_code, code, title, headers=headers)


def _wants_id(request: Request) -> bool:
    """Whether only an id keeps this path from a route."""
    paths = {context.path for context in iter_route_contexts(request.app.routes) if context.path}
    loose = (path.replace(":uuid}", "}") for path in paths if ":uuid}" in path)
    return any(compile_path(path)[0].match(request.url.path) for path in loose)


def _methods_at(request: Request) -> set[str]:
    """Of all routes with this path: Starlette names the methods of the first one only."""
    contexts = [context for context in iter_route_contexts(request.app.routes) if context.path]
    found = [context for context in contexts if compile_path(context.path or "")[0].match(request.url.path)]
    return {method for context in found for method in context.methods or ()}


def _shown(request: Request, item: dict[str, Any]) -> dict[str, str]:
    location = item["loc"]
    return {
        "path": ".".join(map(str, location))[:PATH_LENGTH],
        "message": _message(request, str(item.get("type", "")), location) or str(item["msg"]),
    }


def _message(request: Request, kind: str, location: Sequence[str | int]) -> str:
    """Where the validator's own words would not help."""
    if kind == "extra_forbidden" and (allowed := allowed_fields(request, location)):
        return f"no such field; {there_is(allowed, str(location[-1]))}"
    if tuple(location) == ("body",) and kind in NO_OBJECT and not _says_json(request):
        return "not read as JSON: send the header `Content-Type: application/json`"
    return ""


def _says_json(request: Request) -> bool:
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return content_type == "application/json" or content_type.endswith("+json")

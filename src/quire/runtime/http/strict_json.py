"""JSON bodies, strictly: UTF-8, each key once, finite numbers, bounded depth, and only text that Postgres can store.

Refused here with a typed error is what would otherwise fail deep inside: in a serializer or in SQL.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from quire.kernel import InvalidInputError, unique_keys

DEEPEST = 64

# Only an escape brings in what cannot be stored: the decoders refuse it as it is. The `\u00e4` that many clients
# write for every letter beyond ASCII is none of them.
_SUSPICIOUS_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def parse_json(body: bytes) -> Any:
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise InvalidInputError("the body is not UTF-8", code="JSON_INVALID") from None
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"{error.msg} at character {error.pos}", code="JSON_INVALID") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        # The interpreter's own limit on the digits of an integer.
        raise InvalidInputError("a number has too many digits", code="JSON_INVALID") from None
    _check(body, value)
    return value


class StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = parse_json(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """The route class of every router of the API: `APIRouter(route_class=StrictRoute)`. Its operation is named after
    the function: generated clients get `create_token`, not `create_token_tokens_post`."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        options["operation_id"] = options.get("operation_id") or options.get("name") or endpoint.__name__
        super().__init__(path, endpoint, **options)
        self._stem = self.path.partition("{")[0]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Nearly all routes are told apart by how their paths begin, at a fifth of what their pattern costs."""
        if not scope["path"].startswith(self._stem):
            return Match.NONE, {}
        return super().matches(scope)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly


def _check(body: bytes, value: Any) -> None:
    """The walk is skipped for bodies that cannot hold anything to find, which is nearly all of them."""
    if body.count(b"{") + body.count(b"[") > DEEPEST or _SUSPICIOUS_ESCAPE.search(body):
        _walk(value)


def _walk(root: Any) -> None:
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise _too_deep()
        below: list[Any] = []
        for value in level:
            if isinstance(value, str):
                _check_text(value)
            elif isinstance(value, dict):
                below.extend(value.keys())
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        level = below


def _check_text(text: str) -> None:
    if _NOT_STORABLE.search(text):
        raise InvalidInputError("text holds a NUL or half a surrogate pair", code="TEXT_NOT_STORABLE")


def _too_deep() -> InvalidInputError:
    return InvalidInputError(f"nested deeper than {DEEPEST} levels", code="JSON_TOO_DEEP")


def _refuse_constant(name: str) -> None:
    raise InvalidInputError(f"{name} is not JSON", code="JSON_INVALID")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidInputError("a number is out of range", code="JSON_INVALID")
    return value


_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=unique_keys
)

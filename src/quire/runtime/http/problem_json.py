"""Errors as `application/problem+json` (RFC 9457). The one table from error family to HTTP status is here.

No stack trace, path or secret reaches a client: what is not a refusal on purpose is a 500 without detail.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from starlette.responses import Response

from quire.kernel import (
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidInputError,
    MalformedRequestError,
    NotAcceptableError,
    NotFoundError,
    QuireError,
    RateLimitedError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedMediaError,
)
from quire.runtime.telemetry import current_trace_id

CONTENT_TYPE = "application/problem+json"

STATUS_BY_FAMILY: tuple[tuple[type[QuireError], int], ...] = (
    (MalformedRequestError, 400),
    (NotAcceptableError, 406),
    (UnsupportedMediaError, 415),
    (InvalidInputError, 422),
    (TooLargeError, 413),
    (UnauthenticatedError, 401),
    (ForbiddenError, 403),
    (NotFoundError, 404),
    (ConflictError, 409),
    (GoneError, 410),
    (RateLimitedError, 429),
    (UnavailableError, 503),
    (QuireError, 500),
)

DEFAULT_RETRY_AFTER_SECONDS = {429: 1, 503: 5}
# No answer sends a client away for longer. Idle connections are kept beyond it, so that it comes back on its own.
LONGEST_RETRY_AFTER_SECONDS = 60


def status_of(error: QuireError) -> int:
    return next(status for family, status in STATUS_BY_FAMILY if isinstance(error, family))


def problem_response(error: QuireError) -> Response:
    """An `extra` of `retry_after_seconds` also becomes the Retry-After header."""
    status = status_of(error)
    if status == 500:
        return problem(500, error.code, QuireError.title, retryable=error.retryable)
    return problem(
        status,
        error.code,
        error.title,
        error.detail,
        retryable=error.retryable,
        extra=error.extra,
        headers=_headers(status, error),
    )


def problem(
    status: int,
    code: str,
    title: str,
    detail: str | None = None,
    *,
    retryable: bool = False,
    extra: Mapping[str, object] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    body = {
        **(extra or {}),
        "type": f"urn:quire:error:{code}",
        "title": title,
        "status": status,
        "error_code": code,
        "detail": detail or title,
        "retryable": retryable,
        "trace_id": current_trace_id() or "",
    }
    return Response(_encode(body), status, headers=dict(headers or {}), media_type=CONTENT_TYPE)


def _encode(body: Mapping[str, object]) -> bytes:
    """Escaped to ASCII: a detail may quote text that is not valid Unicode."""
    return json.dumps(body, default=str).encode("ascii")


def _headers(status: int, error: QuireError) -> dict[str, str]:
    if status == 401:
        reason = ', error="invalid_token"' if error.code.startswith("TOKEN_") else ""
        return {"WWW-Authenticate": f'Bearer realm="quire"{reason}'}
    if status in DEFAULT_RETRY_AFTER_SECONDS:
        seconds = error.extra.get("retry_after_seconds", DEFAULT_RETRY_AFTER_SECONDS[status])
        return {"Retry-After": str(min(_whole(seconds), LONGEST_RETRY_AFTER_SECONDS))}
    return {}


def _whole(seconds: object) -> int:
    """Rounded up: a client that comes a moment too early is refused again."""
    assert isinstance(seconds, int | float)
    return math.ceil(seconds)

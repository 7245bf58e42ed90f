"""Error families. A family says what kind of refusal it is; `code` names the exact cause and never changes.

HTTP status codes live in `runtime/http/problem_json.py`, in one table over these families.
"""

from __future__ import annotations

from collections.abc import Mapping


class QuireError(Exception):
    """Anything Quire refuses or fails at on purpose."""

    code = "INTERNAL"
    title = "Internal error"
    retryable = False
    outcome_unknown = False
    """What was asked for may have happened all the same: the answer was lost, not the request."""

    def __init__(
        self,
        detail: str = "",
        *,
        code: str | None = None,
        retryable: bool | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.code = code or type(self).code
        self.retryable = type(self).retryable if retryable is None else retryable
        self.extra = dict(extra or {})


class InvalidInputError(QuireError):
    """The request can never succeed as sent."""

    code = "INVALID_INPUT"
    title = "The request is not valid"


class MalformedRequestError(QuireError):
    """The request is not of the form its route takes: a field is missing, unknown or sent twice."""

    code = "MALFORMED_REQUEST"
    title = "The request is malformed"


class NotAcceptableError(QuireError):
    """The caller accepts no form this answer comes in."""

    code = "NOT_ACCEPTABLE"
    title = "No acceptable form of the answer"


class UnsupportedMediaError(QuireError):
    """The body, or a file in it, is of a type that is not taken here."""

    code = "UNSUPPORTED_MEDIA_TYPE"
    title = "The media type is not supported"


class TooLargeError(QuireError):
    """A size limit was exceeded."""

    code = "PAYLOAD_TOO_LARGE"
    title = "The request is too large"


class UnauthenticatedError(QuireError):
    """No principal, or a token that is unknown, expired or revoked."""

    code = "UNAUTHENTICATED"
    title = "A valid token is required"


class ForbiddenError(QuireError):
    """A known principal without the right."""

    code = "FORBIDDEN"
    title = "Not allowed"


class NotFoundError(QuireError):
    """The thing does not exist, or not for this principal."""

    code = "NOT_FOUND"
    title = "Not found"


class GoneError(QuireError):
    """The thing existed and has been removed."""

    code = "GONE"
    title = "No longer there"


class ConflictError(QuireError):
    """The thing is not in a state that allows this."""

    code = "CONFLICT"
    title = "Conflicts with the current state"


class RateLimitedError(QuireError):
    """Too much work from one caller; the same request may succeed later."""

    code = "RATE_LIMITED"
    title = "Too many requests"
    retryable = True


class UnavailableError(QuireError):
    """A part this request needs is down; the same request may succeed later."""

    code = "UNAVAILABLE"
    title = "Temporarily unavailable"
    retryable = True

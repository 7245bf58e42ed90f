"""Pure building blocks every context may use: errors, ids, canonical hashing, clock. Stdlib and RFC 8785 only."""

from quire.kernel.canonical import canonical_json, sha256_of
from quire.kernel.choices import there_is
from quire.kernel.clock import Clock, SystemClock
from quire.kernel.errors import (
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
from quire.kernel.ids import is_uuid, new_uuid7
from quire.kernel.unique_keys import DuplicateKeyError, unique_keys

__all__ = [
    "Clock",
    "ConflictError",
    "DuplicateKeyError",
    "ForbiddenError",
    "GoneError",
    "InvalidInputError",
    "MalformedRequestError",
    "NotAcceptableError",
    "NotFoundError",
    "QuireError",
    "RateLimitedError",
    "SystemClock",
    "TooLargeError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnsupportedMediaError",
    "canonical_json",
    "is_uuid",
    "new_uuid7",
    "sha256_of",
    "there_is",
    "unique_keys",
]

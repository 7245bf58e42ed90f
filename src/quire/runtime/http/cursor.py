"""Opaque cursors of paged lists: base64url of canonical JSON. Unsigned, since a forged one can only name
another place in the caller's own list; strictly checked, since it is input like any other."""

from __future__ import annotations

import base64

from quire.kernel import InvalidInputError, canonical_json
from quire.runtime.http.strict_json import parse_json

LONGEST = 1024

Scalar = str | int | float | bool | None


def encode_cursor(*position: Scalar) -> str:
    return base64.urlsafe_b64encode(canonical_json(list(position))).rstrip(b"=").decode("ascii")


def decode_cursor(text: str, *types: type[Scalar] | tuple[type[Scalar], ...]) -> tuple[Scalar, ...]:
    """The position, when it has exactly these types in this order and is the one way to write it."""
    position = _position(text)
    if len(position) != len(types) or not all(map(_is, position, types)):
        raise _invalid()
    if encode_cursor(*position) != text:
        raise _invalid()
    return position


def _position(text: str) -> tuple[Scalar, ...]:
    if len(text) > LONGEST:
        raise _invalid()
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        value = parse_json(raw)
    except (ValueError, InvalidInputError):
        raise _invalid() from None
    if not isinstance(value, list):
        raise _invalid()
    return tuple(value)


def _is(value: Scalar, expected: type[Scalar] | tuple[type[Scalar], ...]) -> bool:
    allowed = expected if isinstance(expected, tuple) else (expected,)
    return type(value) in allowed


def _invalid() -> InvalidInputError:
    return InvalidInputError("the cursor is not one this list gave", code="CURSOR_INVALID")

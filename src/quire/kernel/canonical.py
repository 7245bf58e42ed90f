"""One canonical byte form for JSON values (RFC 8785), so that equal work has an equal hash."""

from __future__ import annotations

import hashlib
import json

import rfc8785

from quire.kernel.errors import InvalidInputError

EXACT_INTEGER_MAX = 2**53 - 1
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical_json(value: object) -> bytes:
    """Raises InvalidInputError for what JSON cannot carry exactly: NaN, integers past 2**53, lone surrogates."""
    try:
        if _is_plain(value):
            return _encode(value).encode()
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeError) as error:
        raise InvalidInputError(f"not canonical JSON: {error}", code="PAYLOAD_NOT_CANONICAL") from None


def _is_plain(value: object) -> bool:
    """Whether the standard encoder's bytes are the canonical ones: they differ only in floats that are whole or need
    an exponent, and in the order of keys beyond the basic plane. It is three times faster, and most are plain."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return -EXACT_INTEGER_MAX <= value <= EXACT_INTEGER_MAX  # type: ignore[operator]
    if kind is float:
        text = repr(value)
        return "." in text and "e" not in text and not text.endswith(".0")
    if kind is dict:
        for key, inner in value.items():  # type: ignore[attr-defined]
            if type(key) is not str or not key.isascii() or not _is_plain(inner):
                return False
        return True
    return kind is list and all(map(_is_plain, value))  # type: ignore[call-overload]


def sha256_of(*parts: object) -> bytes:
    return hashlib.sha256(canonical_json(list(parts))).digest()

"""One canonical byte form for JSON values (RFC 8785), so that equal work has an equal hash."""

from __future__ import annotations

import hashlib

import rfc8785

from quire.kernel.errors import InvalidInputError


def canonical_json(value: object) -> bytes:
    """Raises InvalidInputError for what JSON cannot carry exactly: NaN, integers past 2**53, lone surrogates."""
    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeError) as error:
        raise InvalidInputError(f"not canonical JSON: {error}", code="PAYLOAD_NOT_CANONICAL") from None


def sha256_of(*parts: object) -> bytes:
    return hashlib.sha256(canonical_json(list(parts))).digest()

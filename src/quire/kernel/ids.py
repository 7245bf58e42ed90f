"""Time-ordered identifiers (UUID version 7): rows created together sit together in an index."""

from __future__ import annotations

import os
import time
import uuid


def new_uuid7() -> uuid.UUID:
    """48 bits of Unix milliseconds, 12 bits of the fraction below, 62 random bits (RFC 9562, 6.2 method 3).

    The fraction (about a quarter of a microsecond) keeps ids of one process in the order they were made.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    fraction = (rest << 12) // 1_000_000
    random = int.from_bytes(os.urandom(8)) & 0x3FFF_FFFF_FFFF_FFFF
    return uuid.UUID(int=milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | random)


def is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True

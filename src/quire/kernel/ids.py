"""Time-ordered identifiers (UUID version 7): rows created together sit together in an index."""

from __future__ import annotations

import os
import time
import uuid


def new_uuid7() -> uuid.UUID:
    """48 bits of Unix milliseconds, then 74 random bits (RFC 9562, section 5.7)."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF000 << 64) | 0x7000 << 64
    value = value & ~(0xC000 << 48) | 0x8000 << 48
    return uuid.UUID(int=value)


def is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True

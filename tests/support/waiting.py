"""Waits for a condition up to a deadline. Fault tests synchronise with nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

POLL_SECONDS = 0.05

Value = TypeVar("Value")


async def eventually(
    probe: Callable[[], Awaitable[Value]], what: str, *, within_seconds: float = 30.0
) -> Value:
    """The first true answer of the probe."""
    deadline = time.monotonic() + within_seconds
    while not (value := await probe()):
        assert time.monotonic() < deadline, f"not within {within_seconds:g} s: {what}"
        await asyncio.sleep(POLL_SECONDS)
    return value

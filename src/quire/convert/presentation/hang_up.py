"""A caller that is gone waits for nothing: whatever is done for it ends, and its slot is free."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from fastapi import Request

# Nobody reads the answer; the number is in the metrics.
HUNG_UP = 499

T = TypeVar("T")


async def unless_hung_up(request: Request, work: Coroutine[object, object, T]) -> T | None:
    """None: the caller hung up, and the work was cancelled and has ended. The body must have been read before."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_hung_up(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        return None
    finally:
        gone.cancel()
        task.cancel()
        await asyncio.wait({task})


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass

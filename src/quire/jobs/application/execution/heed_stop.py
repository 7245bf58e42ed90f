"""How a handler's work hears that its attempt should stop: as a cancellation, with time to clean up."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from quire.jobs.domain.errors import JobStoppedError
from quire.jobs.ports.v1.handler import JobContext

T = TypeVar("T")


async def heed_stop(context: JobContext, work: Coroutine[object, object, T]) -> T:
    """What `work` returns. When the attempt is asked to stop, at its soft limit or by a cancel, `work` is cancelled and
    may clean up until the hard end; the hard end cancels it again, which means: at once."""
    task = asyncio.ensure_future(work)
    asked = asyncio.ensure_future(context.stop_requested.wait())
    try:
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if task.cancelled():
            raise JobStoppedError("stopped as asked")
        return task.result()
    finally:
        asked.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})

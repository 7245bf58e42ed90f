"""Work that must be done whatever becomes of the task that asked for it: ending a process, giving something back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


async def finish_errand(work: Coroutine[object, object, None]) -> None:
    """Returns when `work` is done, also where the caller is cancelled meanwhile, once or many times. A cancellation
    that came is raised afterwards."""
    errand = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not errand.done():
        try:
            await asyncio.wait({errand})
        except asyncio.CancelledError as error:
            cancelled = error
    errand.result()
    if cancelled is not None:
        raise cancelled

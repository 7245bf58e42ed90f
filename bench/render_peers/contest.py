"""The peers' side of the line protocol: "ready", then for each count read, the seconds it took. Knows no printer."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

# Takes the slot (one of as many as run at once) and the HTML.
Printer = Callable[[int, str], Awaitable[bytes]]
Opener = Callable[[int], AbstractAsyncContextManager[Printer]]


def serve(opened: Opener) -> None:
    """Called by a peer's module: `python -m bench.render_peers.NAME HTML_DIRECTORY CONCURRENCY`."""
    directory, concurrency = Path(sys.argv[1]), int(sys.argv[2])
    documents = [path.read_text(encoding="utf-8") for path in sorted(directory.iterdir())]
    asyncio.run(_serve(opened, documents, concurrency))


async def _serve(opened: Opener, documents: list[str], concurrency: int) -> None:
    async with opened(concurrency) as printer:
        await seconds_for(printer, documents, concurrency, concurrency)
        print("ready", flush=True)
        async for count in _counts():
            print(await seconds_for(printer, documents, count, concurrency), flush=True)


async def _counts() -> AsyncIterator[int]:
    """Until the bench closes our input, or is gone."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield int(line)


async def seconds_for(printer: Printer, documents: list[str], count: int, concurrency: int) -> float:
    left = iter(range(count))

    async def lane(slot: int) -> None:
        for number in left:
            pdf = await printer(slot, documents[number % len(documents)])
            if not pdf.startswith(b"%PDF"):
                raise RuntimeError("the peer printed no PDF")

    began_at = time.perf_counter()
    await asyncio.gather(*(lane(slot) for slot in range(concurrency)))
    return time.perf_counter() - began_at

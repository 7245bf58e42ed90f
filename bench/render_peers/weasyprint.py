"""WeasyPrint in as many processes as documents at once. Runs in the peers' environment, without Quire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager

from bench.render_peers.contest import Printer, serve


def printed(html: str) -> bytes:
    from weasyprint import HTML  # type: ignore[import-not-found]  # of the peers' environment

    logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
    return bytes(HTML(string=html).write_pdf())


@asynccontextmanager
async def opened(concurrency: int) -> AsyncIterator[Printer]:
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(concurrency) as processes:

        async def one(_slot: int, html: str) -> bytes:
            return await loop.run_in_executor(processes, printed, html)

        yield one


if __name__ == "__main__":
    serve(opened)

"""`chromium-headless-shell --print-to-pdf`: one process tree for each document, from a file to a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from bench.render_peers.contest import Printer, serve
from bench.render_peers.sandbox import FLAGS, Sandbox, sandbox

END_SECONDS = 60.0


@asynccontextmanager
async def opened(concurrency: int) -> AsyncIterator[Printer]:
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(sandbox()) for _ in range(concurrency)]

        async def one(slot: int, html: str) -> bytes:
            return await printed(homes[slot], html)

        yield one


async def printed(home: Sandbox, html: str) -> bytes:
    # The one directory that both we and the browser's user may use.
    source, target = home.path / "tmp" / "in.html", home.path / "tmp" / "out.pdf"
    source.write_text(html, encoding="utf-8")
    target.unlink(missing_ok=True)
    # The launch script takes the place of a profile made for it, as Playwright makes one.
    profile = home.path / "given-profile"
    profile.mkdir()
    files = [f"--user-data-dir={profile}", f"--print-to-pdf={target}", source.as_uri()]
    process = await asyncio.create_subprocess_exec(
        *(str(home.script), "--headless", *FLAGS, "--no-pdf-header-footer", *files),
        env={name: str(value) for name, value in home.environment.items()},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        # As under Playwright: the leader of a session, so that its watcher can end all of it.
        start_new_session=True,
    )
    async with asyncio.timeout(END_SECONDS):
        await process.wait()
    home.forget_process()
    return target.read_bytes()


if __name__ == "__main__":
    serve(opened)

"""Playwright, a browser started and closed for each document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from playwright.async_api import async_playwright

from bench.render_peers.bare_page import opened_page, printed
from bench.render_peers.contest import Printer, serve
from bench.render_peers.sandbox import sandbox


@asynccontextmanager
async def opened(concurrency: int) -> AsyncIterator[Printer]:
    async with AsyncExitStack() as stack:
        homes = [await stack.enter_async_context(sandbox()) for _ in range(concurrency)]
        driver = await stack.enter_async_context(async_playwright())

        async def one(slot: int, html: str) -> bytes:
            browser = await homes[slot].launch(driver)
            pdf = await printed(await opened_page(browser), html)
            await browser.close()
            homes[slot].forget_process()
            return pdf

        yield one


if __name__ == "__main__":
    serve(opened)

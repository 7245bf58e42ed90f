"""Playwright, one warm browser, as many pages as documents at once, each used again and again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import async_playwright

from bench.render_peers.bare_page import opened_page, printed
from bench.render_peers.contest import Printer, serve
from bench.render_peers.sandbox import sandbox


@asynccontextmanager
async def opened(concurrency: int) -> AsyncIterator[Printer]:
    async with sandbox() as home, async_playwright() as driver:
        browser = await home.launch(driver)
        pages = [await opened_page(browser) for _ in range(concurrency)]

        async def one(slot: int, html: str) -> bytes:
            return await printed(pages[slot], html)

        yield one
        await browser.close()


if __name__ == "__main__":
    serve(opened)

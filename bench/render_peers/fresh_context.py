"""Playwright, one warm browser, a fresh context for each document."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import async_playwright

from bench.render_peers.bare_page import opened_page, printed
from bench.render_peers.contest import Printer, serve
from bench.render_peers.sandbox import sandbox


@asynccontextmanager
async def opened(_concurrency: int) -> AsyncIterator[Printer]:
    async with sandbox() as home, async_playwright() as driver:
        browser = await home.launch(driver)

        async def one(_slot: int, html: str) -> bytes:
            page = await opened_page(browser)
            pdf = await printed(page, html)
            await page.context.close()
            return pdf

        yield one
        await browser.close()


if __name__ == "__main__":
    serve(opened)

"""What a bare Playwright loop does with a page: Quire's fixed print settings, and nothing else of Quire's."""

from __future__ import annotations

from playwright.async_api import Browser, Page


async def opened_page(browser: Browser) -> Page:
    context = await browser.new_context(java_script_enabled=False)
    return await context.new_page()


async def printed(page: Page, html: str) -> bytes:
    await page.set_content(html)
    return await page.pdf(scale=1, prefer_css_page_size=True, print_background=True)

"""The printer: limits, time, typed failures and constant bytes around a pool of warm browsers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Hashable
from typing import Any, TypeVar

from playwright.async_api import Error

from quire.kernel import QuireError
from quire.render.domain.errors import (
    BrowserLaunchError,
    NavigationTimeoutError,
    RenderUnknownError,
    TemplateError,
)
from quire.render.domain.pdf_bytes import count_pages, deterministic
from quire.render.infrastructure.chromium.browser_pool import BrowserPool
from quire.render.infrastructure.chromium.fingerprint import installed_fingerprint
from quire.render.infrastructure.chromium.options import ChromiumOptions
from quire.render.infrastructure.chromium.print_page import PrintPage, renderer_crash
from quire.render.infrastructure.chromium.warm_browser import WarmBrowser
from quire.render.ports.v1.page_printer import PrintedPdf, PrintRequest

T = TypeVar("T")


class ChromiumPrinter:
    """Implements `PagePrinter`. Nothing starts before the first document or `check`."""

    def __init__(self, options: ChromiumOptions | None = None) -> None:
        self._options = options or ChromiumOptions()
        self._pool = BrowserPool(self._options)
        self._slots = asyncio.Semaphore(self._options.browsers * self._options.pages_per_browser)

    @property
    def fingerprint(self) -> str:
        return installed_fingerprint(self._options.executable)

    def offers(self, fingerprint: str) -> bool:
        return self._pool.offers(fingerprint)

    @property
    def browsers(self) -> tuple[WarmBrowser, ...]:
        return self._pool.browsers

    async def print_pdf(self, request: PrintRequest) -> PrintedPdf:
        self._check_request(request)
        try:
            async with asyncio.timeout(request.timeout_seconds), self._slots:
                return await self._print(request)
        except TimeoutError:
            raise NavigationTimeoutError(
                f"the document was not printed within {request.timeout_seconds:g} s"
            ) from None

    async def check(self) -> None:
        browser = await self._pool.borrow(None)
        try:
            if not await browser.probe():
                raise BrowserLaunchError(f"the browser is not well: {browser.dead}")
        finally:
            self._pool.give_back(browser)

    async def close(self) -> None:
        await self._pool.close()

    async def _print(self, request: PrintRequest) -> PrintedPdf:
        began_at = time.monotonic()
        key = _reuse_key(request)
        browser = await self._pool.borrow(key, request.fingerprint)
        page: PrintPage | None = None
        succeeded = False
        try:
            page = await _unless(browser.take_page(key, javascript=request.javascript), browser.ended)
            printing = page.print(request, self._options.max_pages)
            data, blocked_urls = await _unless(printing, browser.ended, page.broken)
            succeeded = True
        except Error as error:
            raise _typed(error, browser) from None
        finally:
            # Waited for after a failure only: who gets a document need not see the page go.
            release = self._pool.run_errand(self._release(browser, page, request, succeeded))
            if not succeeded:
                await self._released(browser, release)
        return self._printed(data, blocked_urls, time.monotonic() - began_at)

    async def _released(self, browser: WarmBrowser, release: asyncio.Task[None]) -> None:
        try:
            await asyncio.shield(release)
        except asyncio.CancelledError:
            # Its page was told to close, and now the time for that is over, too.
            browser.kill("a document did not end at its time limit")
            raise

    async def _release(
        self, browser: WarmBrowser, page: PrintPage | None, request: PrintRequest, succeeded: bool
    ) -> None:
        key = _reuse_key(request)
        try:
            if page is not None and key is not None and succeeded and page.is_reusable and browser.is_fit:
                await browser.keep_page(key, page)
            elif page is not None:
                await browser.drop_page(page, request.grace_seconds)
            if not succeeded:
                await browser.probe()
        finally:
            self._pool.give_back(browser)

    def _check_request(self, request: PrintRequest) -> None:
        # Characters first: counting bytes of what is too long anyway would be work done for an attacker.
        limit = self._options.max_html_bytes
        if len(request.html) > limit or len(request.html.encode(errors="replace")) > limit:
            raise TemplateError(f"the document is larger than {limit} bytes of HTML")
        if sum(len(asset.data) for asset in request.assets.values()) > self._options.max_asset_bytes:
            raise TemplateError(f"its assets are larger than {self._options.max_asset_bytes} bytes")

    def _printed(self, data: bytes, blocked_urls: tuple[str, ...], seconds: float) -> PrintedPdf:
        if len(data) > self._options.max_output_bytes:
            raise TemplateError(f"the PDF is larger than {self._options.max_output_bytes} bytes")
        try:
            pages = count_pages(data)
            pinned = deterministic(data)
        except ValueError as error:
            raise RenderUnknownError(f"the browser printed something unexpected: {error}") from None
        if pages > self._options.max_pages:
            raise TemplateError(f"the document has more than {self._options.max_pages} pages")
        return PrintedPdf(pinned, pages, blocked_urls, seconds)


def _reuse_key(request: PrintRequest) -> Hashable | None:
    """A page remembers by URL the assets it once loaded, so documents share one only with the same assets."""
    if request.reuse_key is None or request.javascript:
        return None
    return request.reuse_key, frozenset(request.assets.items())


async def _unless(work: Coroutine[object, object, T], *ends: asyncio.Future[QuireError]) -> T:
    """A crashed renderer or a dead browser sometimes leaves its calls unanswered; the news of it comes anyway."""
    task = asyncio.ensure_future(work)
    first: set[asyncio.Future[Any]] = {task, *ends}
    try:
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise next(end.result() for end in ends if end.done())
        return task.result()
    finally:
        task.cancel()
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())


def _typed(error: Error, browser: WarmBrowser) -> QuireError:
    text = error.message.lower()
    if browser.dead or "closed" in text:
        return BrowserLaunchError(f"the browser died while it printed: {browser.dead or 'it ended'}")
    if "crash" in text or "printing failed" in text:
        return renderer_crash()
    return RenderUnknownError(error.message.splitlines()[0][:300])

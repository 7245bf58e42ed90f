"""Which browser prints the next document; starts browsers when they are needed, replaces worn and dead ones."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Hashable

from quire.render.domain.errors import (
    BrowserLaunchError,
    OtherRendererError,
    UnsupportedPlatformError,
)
from quire.render.infrastructure.chromium.fingerprint import installed_fingerprint
from quire.render.infrastructure.chromium.options import ChromiumOptions
from quire.render.infrastructure.chromium.warm_browser import WarmBrowser

# A browser nobody used for this long is asked whether it is well before it gets a document.
QUIET_SECONDS = 30.0


class BrowserPool:
    def __init__(self, options: ChromiumOptions) -> None:
        self._options = options
        self._browsers: list[WarmBrowser] = []
        self._launching: asyncio.Task[None] | None = None
        self._errands: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @property
    def browsers(self) -> tuple[WarmBrowser, ...]:
        return tuple(self._browsers)

    def offers(self, fingerprint: str) -> bool:
        """Whether a document for it can be printed here: by a browser that runs, or by one that would start."""
        if any(browser.is_fit and browser.fingerprint == fingerprint for browser in self._browsers):
            return True
        try:
            return installed_fingerprint(self._options.executable) == fingerprint
        except UnsupportedPlatformError:
            return False

    async def borrow(self, key: Hashable | None, fingerprint: str = "") -> WarmBrowser:
        """Raises BrowserLaunchError, UnsupportedPlatformError, or OtherRendererError where no browser here has this
        fingerprint. A failed start is not remembered."""
        while True:
            if self._is_closed:
                raise BrowserLaunchError("the printer is closed")
            self._retire_unfit()
            if fingerprint:
                self._make_room_for(fingerprint)
            browser = self._pick(key, fingerprint)
            if browser is None:
                await self._launch_one()
                self._check_launched(fingerprint)
            elif time.monotonic() - browser.used_at < QUIET_SECONDS or await browser.probe():
                browser.jobs_running += 1
                browser.used_at = time.monotonic()
                return browser

    def give_back(self, browser: WarmBrowser) -> None:
        browser.jobs_running -= 1
        browser.used_at = time.monotonic()
        self._retire_unfit()
        if not browser.jobs_running and not browser.is_fit:
            self.run_errand(browser.close())

    def run_errand(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Work that goes on when its caller is cancelled, and that `close` waits for."""
        errand = asyncio.create_task(work)
        self._errands.add(errand)
        errand.add_done_callback(self._errands.discard)
        return errand

    async def close(self) -> None:
        self._is_closed = True
        if self._launching is not None:
            await asyncio.wait({self._launching})
        for browser in self._browsers:
            browser.worn = "the printer is closed"
        self._retire_unfit()
        while self._errands:
            await asyncio.wait(self._errands)

    def _make_room_for(self, fingerprint: str) -> None:
        """An upgraded browser takes the place of those that run, with the first document that asks for it. Until then
        they print what asks for them."""
        if any(browser.fingerprint == fingerprint for browser in self._browsers):
            return
        if (installed := installed_fingerprint(self._options.executable)) != fingerprint:
            raise OtherRendererError(f"{fingerprint} is asked for, and this worker has {installed}")
        for browser in self._browsers:
            browser.worn = "another version is installed"
        self._retire_unfit()

    def _check_launched(self, fingerprint: str) -> None:
        """An upgrade in the middle of a start: another attempt finds things settled."""
        if fingerprint and not any(browser.fingerprint == fingerprint for browser in self._browsers):
            raise BrowserLaunchError(f"the browser that started is not {fingerprint}")

    def _pick(self, key: Hashable | None, fingerprint: str) -> WarmBrowser | None:
        """One that has the right page open, or else the least busy; None when one more should be started."""
        suitable = [b for b in self._browsers if not fingerprint or b.fingerprint == fingerprint]
        with_room = [b for b in suitable if b.jobs_running < self._options.pages_per_browser]
        for browser in with_room:
            if key is not None and browser.has_page_for(key):
                return browser
        if not with_room and len(self._browsers) < self._options.browsers:
            return None
        return min(suitable, key=lambda browser: browser.jobs_running, default=None)

    def _retire_unfit(self) -> None:
        unfit = [browser for browser in self._browsers if not browser.is_fit]
        self._browsers = [browser for browser in self._browsers if browser.is_fit]
        for browser in unfit:
            if not browser.jobs_running:
                self.run_errand(browser.close())

    async def _launch_one(self) -> None:
        """One start at a time, shared by all who wait for it, and not undone by the first who gives up."""
        if self._launching is None:
            self._launching = asyncio.create_task(self._launch())
            self._launching.add_done_callback(self._note_launched)
        await asyncio.shield(self._launching)

    async def _launch(self) -> None:
        # Two steps: `_retire_unfit` may put another list in this one's place while the browser starts.
        browser = await WarmBrowser.launch(self._options)
        self._browsers.append(browser)

    def _note_launched(self, launching: asyncio.Task[None]) -> None:
        self._launching = None
        if not launching.cancelled():
            launching.exception()  # its waiters have it too, unless all gave up

"""One driver, one browser, one private directory: started together, used for many documents, gone together."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Hashable
from contextlib import AsyncExitStack, suppress

from playwright.async_api import Browser, CDPSession, Error, Playwright, async_playwright

from quire.kernel import QuireError
from quire.render.domain.errors import BrowserLaunchError, UnsupportedPlatformError
from quire.render.infrastructure.chromium.account import choose_account
from quire.render.infrastructure.chromium.fingerprint import fingerprint_of
from quire.render.infrastructure.chromium.launch_script import (
    check_isolation,
    check_programs,
    write_launch_script,
)
from quire.render.infrastructure.chromium.options import ChromiumOptions
from quire.render.infrastructure.chromium.print_page import PrintPage
from quire.render.infrastructure.chromium.private_directory import PrivateDirectory
from quire.render.infrastructure.chromium.process_session import ProcessSession, is_running

MEMORY_CHECK_SECONDS = 1.0
CONFINED_SECONDS = 3.0


class WarmBrowser:
    """`worn` says why it gets no new documents; `dead` says why it can print nothing any more."""

    def __init__(
        self,
        driver: Playwright,
        browser: Browser,
        control: CDPSession,
        directory: PrivateDirectory,
        options: ChromiumOptions,
    ) -> None:
        self._driver = driver
        self._browser = browser
        self._control = control
        self._directory = directory
        self._options = options
        self._idle: list[tuple[Hashable, PrintPage]] = []
        # Of the process that prints, not of the file it was started from: an upgrade replaces that at any time.
        self.fingerprint = fingerprint_of(browser.version)
        self.session = ProcessSession(directory.process_id())
        self._driver_process = self.session.driver()
        self.worn = ""
        self.dead = ""
        # Resolved by the death of the browser, which leaves some of the driver's calls unanswered for ever.
        self.ended: asyncio.Future[QuireError] = asyncio.get_running_loop().create_future()
        self.jobs_begun = 0
        self.jobs_running = 0
        self.used_at = time.monotonic()
        browser.on("disconnected", lambda _: self._note_death("it ended"))
        self._memory_watch = asyncio.create_task(self._watch_memory())

    @classmethod
    async def launch(cls, options: ChromiumOptions) -> WarmBrowser:
        try:
            async with asyncio.timeout(options.launch_seconds), AsyncExitStack() as undo:
                launched = await cls._launch(options, undo)
                undo.pop_all()
                return launched
        except TimeoutError:
            raise BrowserLaunchError(f"no browser within {options.launch_seconds:g} s") from None
        except QuireError:
            raise
        except Exception as error:  # a driver that cannot start fails with no type of its own
            raise BrowserLaunchError(f"the browser did not start: {_first_line(error)}") from None

    @classmethod
    async def _launch(cls, options: ChromiumOptions, undo: AsyncExitStack) -> WarmBrowser:
        check_programs(options.executable)
        account = await asyncio.to_thread(choose_account)
        directory = await PrivateDirectory.create(options.directory, account)
        undo.push_async_callback(directory.remove)
        await check_isolation(account, directory.fonts_config)
        driver = await async_playwright().start()
        undo.push_async_callback(driver.stop)
        browser = await driver.chromium.launch(
            executable_path=write_launch_script(directory.path, options.executable, account),
            chromium_sandbox=True,
            env=directory.environment,
            artifacts_dir=directory.path / "artifacts",
            args=["--font-render-hinting=none", f"--js-flags=--max-old-space-size={options.heap_mib}"],
            timeout=options.launch_seconds * 1000,
            # The worker decides what a signal means; the driver must not close the browser on its own.
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
        control = await browser.new_browser_cdp_session()
        launched = cls(driver, browser, control, directory, options)
        undo.push_async_callback(launched.close)
        await launched._check_isolation()
        return launched

    async def _check_isolation(self) -> None:
        """A browser that prints proves nothing: the kernel is asked whether it is shut in, before any document."""
        page = await PrintPage.open(self._browser, javascript=False)
        isolated = await self._becomes_isolated()
        await page.close()
        if not isolated:
            raise UnsupportedPlatformError("the browser runs without its sandbox or with a network")

    async def _becomes_isolated(self) -> bool:
        """A spare renderer that is just being started shuts itself in a moment later, before it has any document."""
        deadline = time.monotonic() + CONFINED_SECONDS
        while not (isolated := await asyncio.to_thread(self.session.is_isolated)):
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(0.05)
        return isolated

    @property
    def is_fit(self) -> bool:
        # A killed driver says no farewell.
        if not (is_running(self._driver_process) and is_running(self.session.leader)):
            self._note_death("it ended")
        return not (self.worn or self.dead)

    def has_page_for(self, key: Hashable) -> bool:
        return any(kept == key for kept, _ in self._idle)

    async def take_page(self, key: Hashable | None, *, javascript: bool) -> PrintPage:
        self.jobs_begun += 1
        if self.jobs_begun >= self._options.jobs_per_browser:
            self.worn = "it printed enough documents"
        for place in range(len(self._idle)):
            if key is not None and self._idle[place][0] == key:
                return self._idle.pop(place)[1]
        return await PrintPage.open(self._browser, javascript=javascript)

    async def keep_page(self, key: Hashable, page: PrintPage) -> None:
        if page.documents < self._options.documents_per_page:
            page.tidy()
            self._idle.append((key, page))
        else:
            await self.drop_page(page)
        while len(self._idle) > self._options.idle_pages:
            await self.drop_page(self._idle.pop(0)[1])

    async def drop_page(self, page: PrintPage, grace_seconds: float | None = None) -> None:
        """A page that cannot be closed takes the browser with it."""
        seconds = self._options.close_seconds if grace_seconds is None else grace_seconds
        if not self.dead and not await self._ends_in_time(page.close(), seconds):
            self.kill("a page could not be closed")

    async def probe(self) -> bool:
        """Whether the browser answers; it is killed when it does not."""
        if not self.dead:
            answer = self._control.send("Browser.getVersion")
            if not await self._ends_in_time(answer, self._options.probe_seconds):
                self.kill("it did not answer")
        return not self.dead

    def kill(self, reason: str) -> None:
        self._note_death(reason)
        self.session.kill()

    async def close(self) -> None:
        self.worn = self.worn or "it was closed"
        self._memory_watch.cancel()
        if not await self._ends_in_time(self._browser.close(), self._options.close_seconds):
            self.session.kill()
        if not await self._ends_in_time(self._driver.stop(), self._options.close_seconds):
            with suppress(ProcessLookupError):
                os.kill(self._driver_process, signal.SIGKILL)
        await self._directory.remove()

    def _note_death(self, reason: str) -> None:
        self.dead = self.dead or reason
        if not self.ended.done():
            self.ended.set_result(BrowserLaunchError(f"the browser died while it printed: {self.dead}"))

    async def _watch_memory(self) -> None:
        checked_at = self.used_at
        while not self.dead:
            await asyncio.sleep(MEMORY_CHECK_SECONDS)
            if not self.jobs_running and checked_at > self.used_at:
                continue
            checked_at = time.monotonic()
            if not await asyncio.to_thread(self.session.exceeds, self._options.recycle_memory_bytes):
                continue
            self.worn = "it holds too much memory"
            if await asyncio.to_thread(self.session.exceeds, self._options.kill_memory_bytes):
                self.kill("it passed its memory limit")

    async def _ends_in_time(self, work: Awaitable[object], seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await work
        except (TimeoutError, Error):
            return False
        return True


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]

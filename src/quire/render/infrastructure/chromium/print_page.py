"""One page in a context of its own: shows a document from memory, answers nothing else, prints it.

The document is written into an empty page of a made-up origin, so that its relative URLs name assets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    Route,
    ViewportSize,
    WebSocketRoute,
)

from quire.kernel import QuireError
from quire.render.domain.errors import BrowserLaunchError, TemplateError
from quire.render.infrastructure.chromium.request_report import RequestReport
from quire.render.ports.v1.page_printer import Asset, PrintRequest

ORIGIN = "https://quire.invalid/"
FROZEN_WORLD = (Path(__file__).parent / "frozen_world.js").read_text(encoding="utf-8")
SETTLE = (Path(__file__).parent / "settle.js").read_text(encoding="utf-8")
HTML_TYPE = "text/html; charset=utf-8"
# Nobody looks at the screen: a strip as wide as A4 spares painting what is then laid out anew for paper. Scripts may
# measure the window, so they get one of a usual size.
STRIP = ViewportSize(width=794, height=16)
WINDOW = ViewportSize(width=1280, height=720)
DEPARTURE_SECONDS = 1.0
# What a document was made of stays in the renderer until it collects its garbage. On its own it waits for some fifty
# invoices, which are 80 MB; asked after each twentieth it keeps the size it has after the first.
GARBAGE_CHARACTERS = 300_000
_unclaimed: set[asyncio.Task[None]] = set()


class PrintPage:
    _page: Page
    _tidying: asyncio.Future[None]

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._assets: Mapping[str, Asset] = {}
        self._report = RequestReport()
        self._is_open = False
        self._is_loading = False
        self._garbage_characters = 0
        self.documents = 0
        self.is_reusable = True
        # Resolved when the page will never answer again, or would only after all its time.
        self.broken: asyncio.Future[QuireError] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, browser: Browser, *, javascript: bool) -> PrintPage:
        context = await _new_context(browser, javascript)
        try:
            opened = cls(context)
            await opened._prepare(javascript)
        except BaseException:
            with suppress(Error):
                await asyncio.shield(context.close())
            raise
        return opened

    async def _prepare(self, javascript: bool) -> None:
        self._context.on("request", self._note_request)
        await self._context.route("**/*", self._answer)
        if javascript:
            await self._context.add_init_script(FROZEN_WORLD)
            await self._context.route_web_socket("**/*", self._refuse_socket)
        self._page = await self._context.new_page()
        self._page.on("crash", self._note_crash)
        if not javascript:
            self._page.on("console", self._note_complaint)  # without script, all of it is the browser's own
        # Print styles count from the start, or the fonts and images they name would be asked for too late.
        await asyncio.gather(
            self._page.emulate_media(media="print"), self._page.goto(ORIGIN, wait_until="commit")
        )
        self._is_open = True

    async def print(self, request: PrintRequest, max_pages: int) -> tuple[bytes, tuple[str, ...]]:
        self._assets = {name.removeprefix("./"): asset for name, asset in request.assets.items()}
        self._report = RequestReport()
        self.documents += 1
        self._garbage_characters += len(request.html)
        self._is_loading = True
        await self._page.set_content(request.html, timeout=0)
        self._is_loading = False
        left_behind = await self._settle()
        if self._page.url != ORIGIN:
            raise _departed()
        pdf = await self._page.pdf(
            scale=1,
            prefer_css_page_size=True,
            print_background=True,
            # One page past the limit tells that there are more, without printing them.
            page_ranges=f"1-{max_pages + 1}",
            # Chromium makes the outline from the structure tree.
            tagged=request.tagged or request.outline,
            outline=request.outline,
        )
        self.is_reusable = not (left_behind or self._report.urls or "shadowroot" in request.html.lower())
        return pdf, self._report.urls

    async def _settle(self) -> bool:
        """Whether the document left something behind. Frames of its own origin are settled with it; of the others only
        those with a `data:` document are asked, for a frame without a document never answers."""
        try:
            left_behind = await self._page.evaluate(SETTLE)
        except Error as error:
            if "navigat" in error.message:
                raise _departed() from None
            raise
        for frame in self._page.frames:
            if frame.url.startswith("data:"):
                with suppress(Error):  # it left, and was refused
                    await frame.evaluate(SETTLE)
        return bool(left_behind)

    def tidy(self) -> None:
        """Memory of documents that are done goes back, before the next one: nobody waits, the renderer keeps order."""
        if self._garbage_characters > GARBAGE_CHARACTERS:
            self._garbage_characters = 0
            self._tidying = asyncio.ensure_future(self._page.request_gc())
            self._tidying.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    async def close(self) -> None:
        await self._context.close()

    async def _answer(self, route: Route) -> None:
        # A page that is closed meanwhile takes its questions with it.
        with suppress(Error):
            await self._answer_open(route)

    async def _answer_open(self, route: Route) -> None:
        url = route.request.url
        if not self._is_open and url == ORIGIN:
            return await route.fulfill(body="", content_type=HTML_TYPE)
        asset = self._assets.get(_asset_name(url))
        if asset is not None:
            return await route.fulfill(body=asset.data, content_type=asset.content_type)
        self._refuse(url)
        if route.request.is_navigation_request() and route.request.frame == self._page.main_frame:
            # "No content" leaves the document where it is; an abort would put an error page in its place. A document
            # that leaves while it loads has stopped its own loading, though.
            asyncio.get_running_loop().call_later(DEPARTURE_SECONDS, self._give_up_loading)
            return await route.fulfill(status=204)
        return await route.abort("blockedbyclient")

    async def _refuse_socket(self, socket: WebSocketRoute) -> None:
        self._refuse(socket.url)
        with suppress(Error):
            await socket.close()

    def _refuse(self, url: str) -> None:
        self._report.add(url)
        self.is_reusable = False

    def _note_request(self, request: Request) -> None:
        """Sees also what never becomes a network request, such as `file:`."""
        if not request.url.startswith(ORIGIN):
            self._report.add(request.url)

    def _note_complaint(self, message: ConsoleMessage) -> None:
        """A frame that may not show a file makes no request at all, only a complaint."""
        refused = message.text.partition("Not allowed to load local resource: ")[2]
        if refused:
            self._refuse(refused)

    def _note_crash(self, _: Page) -> None:
        self._break(renderer_crash())

    def _give_up_loading(self) -> None:
        if self._is_loading:
            self._break(_departed())

    def _break(self, error: QuireError) -> None:
        if not self.broken.done():
            self.broken.set_result(error)


async def _new_context(browser: Browser, javascript: bool) -> BrowserContext:
    making = asyncio.ensure_future(
        browser.new_context(
            java_script_enabled=javascript,
            viewport=WINDOW if javascript else STRIP,
            service_workers="block",
            accept_downloads=False,
            locale="en-US",
        )
    )
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        # It comes to be all the same, and nobody else would close it.
        unclaimed = asyncio.create_task(_close_unclaimed(making))
        _unclaimed.add(unclaimed)
        unclaimed.add_done_callback(_unclaimed.discard)
        raise


async def _close_unclaimed(making: asyncio.Future[BrowserContext]) -> None:
    with suppress(Error):
        await (await making).close()


def renderer_crash() -> BrowserLaunchError:
    return BrowserLaunchError("the renderer crashed or ran out of memory")


def _departed() -> TemplateError:
    return TemplateError("the document went to another address instead of being printed")


def _asset_name(url: str) -> str:
    if not url.startswith(ORIGIN):
        return ""
    return unquote(url.removeprefix(ORIGIN).partition("#")[0].partition("?")[0])

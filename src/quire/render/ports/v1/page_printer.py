"""Prints HTML to PDF in a browser that can reach nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Asset:
    data: bytes
    content_type: str


@dataclass(frozen=True, slots=True)
class PrintRequest:
    """All that decides the bytes. Print arguments never vary: paper, margins, header and footer are CSS in `html`."""

    html: str
    assets: Mapping[str, Asset] = field(default_factory=dict)
    """By the relative URL the document uses (`logo.svg`, `fonts/inter.woff2`); served from memory."""
    javascript: bool = False
    """Script sees a frozen clock and fixed random numbers. One that is not done when the document has loaded sets
    `globalThis.quireReady` to a promise; printing waits for it."""
    tagged: bool = False
    outline: bool = False
    fingerprint: str = ""
    """The renderer that must print it; empty: any."""
    reuse_key: str | None = None
    """Documents with one key may share a page one after another: one tenant, an allowlisted template, no script.
    None: a fresh page in a fresh context, closed afterwards (raw HTML, templates with script)."""
    timeout_seconds: float | None = None
    """None: whoever asked cancels it in time."""
    grace_seconds: float | None = None
    """How long its page may take to close when it is stopped; then the browser is killed. None: the printer's own."""


@dataclass(frozen=True, slots=True)
class PrintedPdf:
    data: bytes
    """Deterministic: dates pinned, structure ids renumbered."""
    pages: int
    blocked_urls: tuple[str, ...]
    """What the document asked for and did not get, at most 50, each cut to 300 characters."""
    executor_seconds: float


class PagePrinter(Protocol):
    @property
    def fingerprint(self) -> str:
        """Browser version and font set; equal fingerprints give equal bytes for equal requests. Of the browser that
        would start now; one that runs may still have another."""
        ...

    def offers(self, fingerprint: str) -> bool:
        """Whether a document for this fingerprint can be printed here now."""
        ...

    async def print_pdf(self, request: PrintRequest) -> PrintedPdf:
        """SHALL return the same bytes for the same request, whatever was printed before, in whichever process.
        SHALL end within `timeout_seconds`, its grace and 1 s, with NavigationTimeoutError, BrowserLaunchError (browser
        dead or renderer crashed, says which), TemplateError (limits on bytes, pages exceeded), OtherRendererError
        (no browser here has the request's fingerprint) or RenderUnknownError.
        SHALL NOT let the document reach any network, file or other document. Cancelling SHALL close the page within
        the grace and free everything; cancelling again SHALL kill the browser at once."""
        ...

    async def check(self) -> None:
        """SHALL raise BrowserLaunchError or UnsupportedPlatformError when printing is not possible now."""
        ...

    async def close(self) -> None: ...

"""Wires rendering: templates, the template process, the browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import structlog

from quire.entrypoints.engine import read_policies, shipped_handlers
from quire.entrypoints.shipped import shipped_dir
from quire.jobs import Handler
from quire.kernel import there_is
from quire.render import KIND, RenderParts, render_handler
from quire.render.domain.errors import UnsupportedPlatformError
from quire.render.infrastructure.chromium import ChromiumOptions, ChromiumPrinter
from quire.render.infrastructure.chromium.fingerprint import installed_fingerprint
from quire.render.infrastructure.filesystem.template_store import FolderTemplateStore
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder
from quire.runtime.settings import Settings, SettingsError

RENDER_QUEUE = "render_pdf"

log = structlog.get_logger(__name__)


def open_templates(settings: Settings) -> FolderTemplateStore:
    own = [settings.templates_dir] if settings.templates_dir is not None else []
    names = [name.strip() for name in settings.template_allowlist.split(",") if name.strip()]
    store = FolderTemplateStore([shipped_dir("templates"), *own], names)
    for name in names:
        if name not in store.names():
            known = there_is(store.found(), name)
            raise SettingsError(f"PDF_TEMPLATE_ALLOWLIST: no template {name!r}; {known}")
    return store


def fleet_fingerprint(settings: Settings) -> str:
    """What documents are accepted for, now: an upgraded browser counts at once, as it does for the workers. Empty when
    neither the settings nor this machine can say."""
    if settings.render_fingerprint:
        return settings.render_fingerprint
    try:
        return installed_fingerprint(settings.chromium)
    except UnsupportedPlatformError:
        return ""


def can_print(settings: Settings) -> bool:
    return settings.chromium.exists()


class EmbedderOnDemand:
    """Factur-X brings a second of imports that only the first e-invoice of a worker should pay."""

    def embed(self, pdf: bytes, data: Mapping[str, object], profile: str, language: str) -> bytes:
        from quire.render.infrastructure.facturx.invoice_embedder import FacturxInvoiceEmbedder

        return FacturxInvoiceEmbedder().embed(pdf, data, profile, language)


@asynccontextmanager
async def worker_handlers(settings: Settings) -> AsyncIterator[list[Handler]]:
    """All kinds a worker can do here; without a browser, documents are left to others."""
    others = [handler for handler in shipped_handlers(settings) if handler.kind != KIND]
    if not can_print(settings):
        log.warning("no_browser", chromium=str(settings.chromium))
        yield others
        return
    parts = RenderParts(
        templates=open_templates(settings),
        builder=JinjaHtmlBuilder(),
        printer=ChromiumPrinter(
            ChromiumOptions(executable=settings.chromium, pages_per_browser=settings.render_pages)
        ),
        embedder=EmbedderOnDemand(),
        grace_seconds=grace_seconds(settings),
    )
    try:
        yield [*others, render_handler(parts)]
    finally:
        await parts.printer.close()
        await parts.builder.close()


def grace_seconds(settings: Settings) -> float:
    """At the soft limit a page is told to close, at the hard limit its browser is killed."""
    queues = read_policies(settings).queues
    queue = queues.queue(queues.kind(KIND).queue)
    return queue.hard_limit_seconds - queue.soft_limit_seconds


def servable_queues(settings: Settings, names: Iterable[str]) -> list[str]:
    """A worker that cannot print must not say that it serves documents."""
    return [name for name in names if name != RENDER_QUEUE or can_print(settings)]

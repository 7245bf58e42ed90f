"""Wires accepting documents: the API's side of rendering, and schedules."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from quire.entrypoints.engine import Engine
from quire.entrypoints.render import fleet_fingerprint
from quire.jobs import CompletionWatch
from quire.render import RenderDesk
from quire.render.infrastructure.filesystem.template_store import FolderTemplateStore
from quire.runtime.settings import Settings

if TYPE_CHECKING:
    from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder
    from quire.render.presentation.routes import PdfDesk


def render_desk(engine: Engine, settings: Settings, templates: FolderTemplateStore) -> RenderDesk:
    return RenderDesk(
        engine.intake, templates, partial(fleet_fingerprint, settings), settings.pdf_max_payload_bytes
    )


def pdf_desk(
    engine: Engine,
    settings: Settings,
    watch: CompletionWatch,
    templates: FolderTemplateStore,
    builder: JinjaHtmlBuilder,
) -> PdfDesk:
    # The web framework is the API process's to load, not the scheduler's.
    from quire.render.presentation.routes import PdfDesk

    return PdfDesk(
        render=render_desk(engine, settings, templates),
        board=engine.board,
        broker=engine.broker,
        watch=watch,
        storage=engine.storage,
        builder=builder,
        failsafe=settings.pdf_failsafe,
    )

"""Wires the API's side of rendering; workers need none of it."""

from __future__ import annotations

from functools import partial

from quire.entrypoints.engine import Engine
from quire.entrypoints.render import fleet_fingerprint
from quire.jobs import CompletionWatch
from quire.render import RenderDesk
from quire.render.infrastructure.filesystem.template_store import FolderTemplateStore
from quire.render.infrastructure.jinja.html_builder import JinjaHtmlBuilder
from quire.render.presentation.routes import PdfDesk
from quire.runtime.settings import Settings


def pdf_desk(
    engine: Engine,
    settings: Settings,
    watch: CompletionWatch,
    templates: FolderTemplateStore,
    builder: JinjaHtmlBuilder,
) -> PdfDesk:
    return PdfDesk(
        render=RenderDesk(
            engine.intake, templates, partial(fleet_fingerprint, settings), settings.pdf_max_payload_bytes
        ),
        board=engine.board,
        broker=engine.broker,
        watch=watch,
        storage=engine.storage,
        builder=builder,
        failsafe=settings.pdf_failsafe,
    )

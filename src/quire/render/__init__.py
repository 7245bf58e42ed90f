"""Front door of rendering: HTML templates to PDF."""

from quire.render.application.create_pdf_job import KIND, DocumentRequest, RenderDesk, create_pdf_job
from quire.render.application.metrics import count_transition, gauge_depth
from quire.render.application.render_pdf import RenderParts, render_pdf
from quire.render.domain.job_payload import RenderJob
from quire.render.presentation.handlers.render_pdf import accepting_handler, render_handler

__all__ = [
    "KIND",
    "DocumentRequest",
    "RenderDesk",
    "RenderJob",
    "RenderParts",
    "accepting_handler",
    "count_transition",
    "create_pdf_job",
    "gauge_depth",
    "render_handler",
    "render_pdf",
]

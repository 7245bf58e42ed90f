"""The HTML a payload would give: for template authors, and in place of a PDF while no renderer lives."""

from __future__ import annotations

from quire.render.application.create_pdf_job import DocumentRequest, RenderDesk, resolve_document
from quire.render.domain.page_document import page_document, raw_document
from quire.render.domain.template_pack import Manifest
from quire.render.ports.v1.html_builder import HtmlBuilder
from quire.runtime.auth import Principal


async def preview_html(
    desk: RenderDesk, builder: HtmlBuilder, caller: Principal, request: DocumentRequest
) -> str:
    job = resolve_document(desk, caller, request)
    if job.html is not None:
        return raw_document(job.html, Manifest("Raw HTML", "HTML as sent"), job.options)
    pack = desk.templates.pack(job.template_name, job.template_version)
    return page_document(await builder.build(pack, job.data), pack, job.options)

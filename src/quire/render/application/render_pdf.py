"""One document, from accepted job to PDF bytes: a short pipeline of named steps."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from quire.render.application.create_pdf_job import RAW_TEMPLATE
from quire.render.domain.errors import TemplateError
from quire.render.domain.job_payload import RenderJob
from quire.render.domain.page_document import page_document, raw_document
from quire.render.domain.pdf_metadata import document_metadata, with_metadata
from quire.render.domain.template_pack import Manifest, TemplatePack
from quire.render.ports.v1.html_builder import HtmlBuilder
from quire.render.ports.v1.invoice_embedder import InvoiceEmbedder
from quire.render.ports.v1.page_printer import Asset, PagePrinter, PrintedPdf, PrintRequest
from quire.render.ports.v1.template_store import TemplateStore

RAW_PACK = TemplatePack(RAW_TEMPLATE, "0", Manifest("Raw HTML", "HTML as sent"), "", {}, {})


@dataclass(frozen=True, slots=True)
class RenderParts:
    templates: TemplateStore
    builder: HtmlBuilder
    printer: PagePrinter
    embedder: InvoiceEmbedder
    grace_seconds: float = 5.0
    """From the request to stop to the hard end: how long a page may take to close."""


@dataclass(frozen=True, slots=True)
class RenderedDocument:
    printed: PrintedPdf
    data: bytes
    filename: str


async def render_pdf(parts: RenderParts, job: RenderJob, *, tenant_id: str) -> RenderedDocument:
    """Takes its time: whoever calls it knows when it is up, and cancels."""
    pack = _pack_of(parts.templates, job)
    html = job.html if job.html is not None else await parts.builder.build(pack, job.data)
    request = _print_request(pack, job, html, tenant_id, parts.grace_seconds)
    printed = await parts.printer.print_pdf(request)
    data = with_metadata(printed.data, document_metadata(request.html))
    if pack.manifest.facturx_profile:
        language = str(job.data.get("language", pack.manifest.language))
        profile = pack.manifest.facturx_profile
        data = await asyncio.to_thread(parts.embedder.embed, data, job.data, profile, language)
    return RenderedDocument(printed, data, f"{pack.name}.pdf")


def _pack_of(templates: TemplateStore, job: RenderJob) -> TemplatePack:
    """Checked again here: the allowlist of this machine counts, and so does the content that was accepted."""
    if job.html is not None:
        return RAW_PACK
    pack = templates.pack(job.template_name, job.template_version)
    if pack.content_hash != job.template_hash:
        raise TemplateError(f"template {pack.name}/{pack.version} changed after this document was accepted")
    return pack


def _print_request(
    pack: TemplatePack, job: RenderJob, html: str, tenant_id: str, grace_seconds: float
) -> PrintRequest:
    manifest = pack.manifest
    shareable = job.html is None and not manifest.javascript
    document = (
        page_document(html, pack, job.options)
        if job.html is None
        else raw_document(html, manifest, job.options)
    )
    return PrintRequest(
        html=document,
        assets={path: Asset(data, kind) for path, (data, kind) in pack.assets.items()},
        javascript=manifest.javascript,
        tagged=job.options.tagged,
        outline=job.options.outline,
        fingerprint=job.fingerprint,
        reuse_key=f"{tenant_id}/{pack.name}/{pack.content_hash}" if shareable else None,
        grace_seconds=grace_seconds,
    )

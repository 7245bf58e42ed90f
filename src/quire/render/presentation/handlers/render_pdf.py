"""The handler of `render.pdf`."""

from __future__ import annotations

import time

from quire.jobs import Handler, JobContext, JobDeferredError, heed_stop
from quire.render.application import metrics
from quire.render.application.create_pdf_job import KIND
from quire.render.application.render_pdf import RenderParts, render_pdf
from quire.render.domain.errors import UNSUPPORTED_PLATFORM, OtherRendererError
from quire.render.domain.job_payload import RenderJob

OTHER_RENDERER_SECONDS = 2.0
REMEDY = (
    "No worker had that browser version and those fonts in time. Start one that has, then retry; or discard it and ask "
    "for the document again: the renderer that is installed now prints it."
)


def render_handler(parts: RenderParts) -> Handler:
    async def handle(payload: object, context: JobContext) -> object:
        assert isinstance(payload, RenderJob)
        return await _render(parts, payload, context)

    return Handler(KIND, handle, decode=RenderJob.from_payload, public=False)


def accepting_handler() -> Handler:
    """For processes that accept documents and never print one."""

    async def refuse(payload: object, context: JobContext) -> object:
        raise JobDeferredError("this worker does not print", OTHER_RENDERER_SECONDS)

    return Handler(KIND, refuse, decode=RenderJob.from_payload, public=False)


def _waits_for(fingerprint: str) -> JobDeferredError:
    """Its bytes would not be the promised ones; a worker with the right browser and fonts takes it."""
    return JobDeferredError(
        f"waits for the renderer {fingerprint}",
        OTHER_RENDERER_SECONDS,
        end_code=UNSUPPORTED_PLATFORM,
        remedy=REMEDY,
    )


async def _render(parts: RenderParts, job: RenderJob, context: JobContext) -> object:
    if job.fingerprint and not parts.printer.offers(job.fingerprint):
        raise _waits_for(job.fingerprint)
    started = time.monotonic()
    try:
        document = await heed_stop(context, render_pdf(parts, job, tenant_id=context.lease.tenant_id))
    except OtherRendererError:
        raise _waits_for(job.fingerprint) from None
    artifact = await context.put_artifact(
        document.data, filename=document.filename, content_type="application/pdf", folder="pdfs"
    )
    metrics.EXECUTOR_SECONDS.observe(document.printed.executor_seconds)
    metrics.RENDER_SECONDS.observe(time.monotonic() - started)
    return {
        "sha256": artifact.sha256,
        "pages": document.printed.pages,
        "size_bytes": artifact.size_bytes,
        "blocked_urls": list(document.printed.blocked_urls),
    }

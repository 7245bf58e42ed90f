"""The handler of `convert.xml`."""

from __future__ import annotations

from quire.convert.application.convert_pdf import ConvertParts, convert_pdf
from quire.convert.application.step_log import log_step
from quire.convert.domain.conversion import KIND, Conversion
from quire.jobs import Handler, JobContext, JobDeferredError, JobState, heed_stop

OTHER_WORKER_SECONDS = 2.0


def convert_handler(parts: ConvertParts) -> Handler:
    async def handle(payload: object, context: JobContext) -> object:
        assert isinstance(payload, Conversion)
        return await _convert(parts, payload, context)

    return Handler(KIND, handle, decode=Conversion.from_payload, public=False)


def accepting_convert_handler() -> Handler:
    """For processes that accept files and have no gateway to send them to."""

    async def refuse(payload: object, context: JobContext) -> object:
        raise JobDeferredError("this worker has no gateway", OTHER_WORKER_SECONDS)

    return Handler(KIND, refuse, decode=Conversion.from_payload, public=False)


async def _convert(parts: ConvertParts, job: Conversion, context: JobContext) -> object:
    log_step("start", job_id=context.lease.job_id, status=JobState.RUNNING, attempt=context.lease.attempt)
    converted = await heed_stop(context, convert_pdf(parts, job, context))
    return {
        "mapping": job.mapping,
        "sha256": converted.artifact.sha256,
        "size_bytes": converted.artifact.size_bytes,
        "result_path": converted.result_path or converted.artifact.key,
    }

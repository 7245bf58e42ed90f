"""One conversion, from the kept PDF to kept XML, in bounded memory: the gateway's answer is checked while it passes
into the storage, which keeps it when the check has passed, and nobody sees it before the job has succeeded."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, closing
from dataclasses import dataclass
from functools import partial

from quire.convert.application.step_log import Step, log_step
from quire.convert.domain.conversion import Conversion
from quire.convert.domain.gateway_errors import (
    GW_5XX,
    GW_TIMEOUT,
    IO_ERROR,
    AnswerUncheckedError,
    GatewayError,
    GatewayUnreachableError,
)
from quire.convert.domain.mapping_list import MappingList
from quire.convert.domain.voucher import Voucher
from quire.convert.ports.v1.answer_check import AnswerCheck
from quire.convert.ports.v1.gateway_client import GatewayClient, PdfSource
from quire.convert.ports.v1.input_store import InputStore
from quire.convert.ports.v1.result_shelf import ResultDraft, ResultShelf
from quire.jobs import Artifact, FailureAdvice, JobContext, JobError, JobState
from quire.kernel import QuireError
from quire.runtime.storage import (
    StorageCorruptError,
    StorageFullError,
    StorageKeyError,
    StorageNotFoundError,
    StorageRefusedError,
    StorageUnavailableError,
)

XML = "application/xml"
MISSING = (
    "the file that was handed in is not where this worker looks; was UPLOADS_DIR or the storage changed?"
)
LOCAL_FAULTS = (
    AnswerUncheckedError,
    StorageCorruptError,
    StorageFullError,
    StorageKeyError,
    StorageNotFoundError,
    StorageRefusedError,
    StorageUnavailableError,
)


@dataclass(frozen=True, slots=True)
class ConvertParts:
    inputs: InputStore
    gateway: GatewayClient
    mappings: MappingList
    new_check: Callable[[Voucher | None], AnswerCheck]
    """For an answer with this voucher; whether its gateway is believed is decided there."""
    shelf: ResultShelf | None = None


@dataclass(frozen=True, slots=True)
class ConvertedXml:
    artifact: Artifact
    result_path: str | None


async def convert_pdf(parts: ConvertParts, job: Conversion, context: JobContext) -> ConvertedXml:
    """Checked again here: the allow-list of this machine counts."""
    parts.mappings.check(job.mapping)
    started = time.monotonic()
    try:
        return await _call_and_keep(parts, job, context)
    except GatewayError as error:
        _log(context, "gateway_error", started, error.status, error.code)
        raise JobError(error.detail, code=error.code, advice=await _advice(parts, error)) from error
    except LOCAL_FAULTS as error:
        raise _io_error(error) from error


async def _call_and_keep(parts: ConvertParts, job: Conversion, context: JobContext) -> ConvertedXml:
    lease = context.lease
    async with AsyncExitStack() as stack:
        draft = None
        if parts.shelf is not None:
            draft = parts.shelf.draft(lease.job_id, lease.fence)
            stack.push_async_callback(draft.close)
        source, started = await _source(parts, job, context), time.monotonic()
        answer = await stack.enter_async_context(parts.gateway.process(job.mapping, source))
        check = stack.enter_context(closing(parts.new_check(answer.voucher)))
        chunks = await stack.enter_async_context(aclosing(_checked(check, answer.chunks, draft)))
        artifact = await context.put_artifact_stream(
            chunks,
            filename=f"{lease.job_id}.xml",
            content_type=XML,
            folder="results",
            approve=partial(_approve, check, context, started),
        )
        if not artifact.size_bytes:
            raise JobError("the storage kept an empty file", code=IO_ERROR)
        return ConvertedXml(artifact, await _publish(context, draft, artifact))


async def _source(parts: ConvertParts, job: Conversion, context: JobContext) -> PdfSource:
    job_id = context.lease.job_id
    try:
        size_bytes = await parts.inputs.size_bytes(job_id)
    except StorageNotFoundError as error:
        raise JobError(f"{error.code}: {MISSING}", code=IO_ERROR) from error
    if size_bytes != job.size_bytes:
        raise JobError(f"the kept file has {size_bytes} bytes, not {job.size_bytes}", code=IO_ERROR)
    return PdfSource(size_bytes, lambda: parts.inputs.read(job_id))


async def _checked(
    check: AnswerCheck, answer: AsyncIterator[bytes], draft: ResultDraft | None
) -> AsyncGenerator[bytes, None]:
    async for chunk in answer:
        await check.feed(chunk)
        if draft is not None:
            await draft.write(chunk)
        yield chunk


async def _approve(check: AnswerCheck, context: JobContext, started: float) -> None:
    """The storage has all of it by now, out of sight, and syncs it meanwhile."""
    await check.finish()
    _log(context, "gateway_ok", started, 200)


async def _publish(context: JobContext, draft: ResultDraft | None, artifact: Artifact) -> str | None:
    """A worker that lost its lease while it wrote must not put its file over the winner's."""
    if draft is None:
        return None
    await context.progress(99)
    return await draft.publish(artifact.size_bytes)


async def _advice(parts: ConvertParts, error: GatewayError) -> FailureAdvice:
    """A gateway that cannot be reached, or does not even say that it is well, is down: that is no fault of this file,
    nor of the next."""
    suspect = error.code in (GW_5XX, GW_TIMEOUT)
    outage = isinstance(error, GatewayUnreachableError) or (suspect and not await parts.gateway.answers())
    return FailureAdvice(not_before_seconds=error.retry_after_seconds, outage=outage, words=error.remedy)


def _io_error(error: QuireError) -> JobError:
    full = isinstance(error, StorageFullError)
    return JobError(f"{error.code}: {error.detail}", code=IO_ERROR, advice=FailureAdvice(final=full))


def _log(
    context: JobContext, step: Step, started: float, status: int | None, error_code: str | None = None
) -> None:
    log_step(
        step,
        job_id=context.lease.job_id,
        status=JobState.RUNNING,
        attempt=context.lease.attempt,
        duration_ms=int((time.monotonic() - started) * 1000),
        gateway_status=status,
        error_code=error_code,
    )

"""Accept a PDF: allowed mapping, a file that is one, its bytes safe under the job's id, one job for equal work while
its result is whole. The bytes are deleted again only when it is certain that no job needs them: a request that was
cancelled, or whose commit was not acknowledged, may have made its job. The file sweeper removes what has none."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

import structlog

from quire.convert.domain.conversion import KIND, Conversion
from quire.convert.domain.mapping_list import MappingList
from quire.convert.domain.pdf_check import PdfCheck
from quire.convert.ports.v1.input_store import InputStore
from quire.jobs import Artifact, Intake, JobRequest, Receipt, enqueue_jobs
from quire.kernel import QuireError, new_uuid7
from quire.runtime.auth import Principal
from quire.runtime.storage import StorageBackend, StorageCorruptError, StorageNotFoundError

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AcceptanceDesk:
    """What accepting files needs; wired once a process."""

    intake: Intake
    inputs: InputStore
    mappings: MappingList
    max_file_bytes: int
    storage: StorageBackend


async def create_conversion(
    desk: AcceptanceDesk, caller: Principal, mapping: str, chunks: AsyncIterator[bytes]
) -> Receipt:
    """The bytes are there before the job is: a worker may take it at once."""
    desk.mappings.check(mapping)
    job_id = new_uuid7()
    conversion = await _take_in(desk, job_id, mapping, chunks)
    try:
        receipt = await _enqueue_once(desk, caller, job_id, conversion)
    except QuireError as error:
        if not error.outcome_unknown:
            await desk.inputs.delete(job_id)
        raise
    if receipt.job_id != job_id:
        # Another job stands for this one and has these bytes already.
        await desk.inputs.delete(job_id)
    return receipt


async def _take_in(
    desk: AcceptanceDesk, job_id: UUID, mapping: str, chunks: AsyncIterator[bytes]
) -> Conversion:
    check = PdfCheck(desk.max_file_bytes)
    await desk.inputs.put(job_id, _checked(chunks, check))
    return Conversion(mapping, check.sha256, check.size_bytes)


async def _checked(chunks: AsyncIterator[bytes], check: PdfCheck) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        check.feed(chunk)
        yield chunk
    check.close()


async def _enqueue_once(
    desk: AcceptanceDesk, caller: Principal, job_id: UUID, conversion: Conversion
) -> Receipt:
    """What is done answers only with a result that is what was converted; a wrong one goes and is made again."""
    receipt = await _enqueue(desk, caller, job_id, conversion)
    kept = receipt.artifact
    if kept is None or await _is_whole(desk.storage, kept):
        return receipt
    log.warning("artifact_damaged", job_id=str(receipt.job_id), artifact_key=kept.key)
    await desk.storage.delete(kept.key)
    return await _enqueue(desk, caller, job_id, conversion)


async def _is_whole(storage: StorageBackend, kept: Artifact) -> bool:
    """Reads all of it, which is no more than was done with the file that was just handed in."""
    digest = hashlib.sha256()
    try:
        async for chunk in storage.get_stream(kept.key):
            digest.update(chunk)
    except (StorageCorruptError, StorageNotFoundError):
        return False
    return digest.hexdigest() == kept.sha256


async def _enqueue(desk: AcceptanceDesk, caller: Principal, job_id: UUID, conversion: Conversion) -> Receipt:
    size_class = desk.intake.policies.queues.size_class_of(conversion.size_bytes)
    request = JobRequest(KIND, conversion.to_payload(), size_class=size_class, job_id=job_id)
    (receipt,) = await enqueue_jobs(desk.intake, [request], tenant_id=caller.tenant_id, created_by=caller.id)
    return receipt

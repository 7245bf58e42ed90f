"""Whether bytes are what Quire rendered, by their hash: for one job, or for any job the caller may see."""

from __future__ import annotations

from quire.jobs import JobBoard, JobDetail, find_job_of_sha256
from quire.render.application.create_pdf_job import KIND
from quire.render.application.find_pdf_job import find_pdf_job
from quire.runtime.auth import Principal


async def verify_pdf(
    board: JobBoard, caller: Principal, sha256: str, job_id: str | None = None
) -> tuple[bool, JobDetail | None]:
    """Without `job_id` a document is known while it is kept; a job that is named knows its hash for longer, for its
    result stays when its bytes have expired."""
    if job_id is not None:
        detail = await find_pdf_job(board, caller, job_id)
        return sha256_of(detail) == sha256, detail
    found = await find_job_of_sha256(board, caller, sha256, KIND)
    return found is not None, found


def sha256_of(detail: JobDetail) -> str | None:
    if detail.artifact is not None:
        return detail.artifact.sha256
    result = detail.job.result if isinstance(detail.job.result, dict) else {}
    return result.get("sha256")

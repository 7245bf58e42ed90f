"""What the routes of `/pdf` work with; wired by the entrypoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from quire.jobs import Broker, CompletionWatch, JobBoard, JobDetail
from quire.render.application.create_pdf_job import RenderDesk
from quire.render.application.find_pdf_job import find_pdf_job
from quire.render.ports.v1.html_builder import HtmlBuilder
from quire.runtime.auth import Principal
from quire.runtime.storage import StorageBackend


@dataclass(frozen=True, slots=True)
class PdfDesk:
    render: RenderDesk
    board: JobBoard
    broker: Broker
    watch: CompletionWatch
    storage: StorageBackend
    builder: HtmlBuilder
    failsafe: Literal["strict", "degrade"]

    async def find(
        self, caller: Principal, job_id: str, wait_seconds: float = 0, *, with_payload: bool = True
    ) -> JobDetail:
        """As it is when it ends, or after `wait_seconds`. Who may not have it does not wait for it."""
        detail = await find_pdf_job(self.board, caller, job_id, with_payload=with_payload)
        if not wait_seconds or detail.job.finished_at is not None:
            return detail
        await self.watch.wait(detail.job.id, wait_seconds)
        return await find_pdf_job(self.board, caller, job_id, with_payload=with_payload)

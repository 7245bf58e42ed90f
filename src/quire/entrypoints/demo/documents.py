"""Documents: printed, fetched, known again by their bytes, and printed once however often they are asked for."""

from __future__ import annotations

import hashlib
import io
from typing import Any

from quire.entrypoints.cli.moments import size
from quire.entrypoints.demo.scenario import Scenario, Stage, expect


def printed_invoice(stage: Stage) -> bytes:
    job = _rendered(stage, stage.api.post_document(_document(stage))[0])
    copy = io.BytesIO()
    stage.api.download(job["download_url"], copy)
    return copy.getvalue()


def invoice(stage: Stage) -> str:
    job = _rendered(stage, stage.api.post_document(_document(stage))[0])
    copy = io.BytesIO()
    written = stage.api.download(job["download_url"], copy)
    digest = hashlib.sha256(copy.getvalue()).hexdigest()
    expect(copy.getvalue().startswith(b"%PDF-"), "what came is no PDF")
    expect(digest == job["sha256"], "the downloaded bytes have another hash")
    expect(stage.api.get("/pdf/verify", sha256=digest)["genuine"], "its own bytes are unknown to it")
    return f"{job['pages']} page, {size(written)}, equal sha256 {digest[:8]}…"


def twice(stage: Stage) -> str:
    document = _document(stage)
    (first, _), (second, _) = stage.api.post_document(document), stage.api.post_document(document)
    expect(first == second, "two jobs for one document")
    job = _rendered(stage, first)
    expect(stage.api.post_document(document) == (first, True), "printed again when it was there")
    return f"all are job {job['job_id'][:13]}…"


def _document(stage: Stage) -> dict[str, Any]:
    sample = stage.api.get("/pdf/templates/invoice")["sample"]
    return {"template_name": "invoice", "payload": sample, "options": {"subject": stage.mark}}


def _rendered(stage: Stage, job_id: str) -> dict[str, Any]:
    stage.ended(job_id)
    job: dict[str, Any] = stage.api.get(f"/pdf/jobs/{job_id}")
    expect(job["status"] == "succeeded", f"the document is {job['status']}: {job['error']}")
    return job


DOCUMENTS = (
    Scenario("render.pdf", "an invoice, printed and fetched", invoice),
    Scenario("render.pdf ×3", "one document, one job", twice),
)

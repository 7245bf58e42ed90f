"""Conversions: the demo's own printed invoice, read back through the gateway, and a file that no gateway takes."""

from __future__ import annotations

import hashlib
import io
from typing import Any

from quire.entrypoints.api_client import ApiRefusalError
from quire.entrypoints.cli.moments import size
from quire.entrypoints.demo.documents import printed_invoice
from quire.entrypoints.demo.scenario import Scenario, Stage, expect


def words(stage: Stage) -> str:
    xml = _converted(stage, printed_invoice(stage), "alto")
    found = xml.count(b"<String ")
    expect(found > 20, f"{found} words in a whole invoice")
    return f"{found} words, {size(len(xml))} of ALTO"


def refused(stage: Stage) -> str:
    try:
        stage.api.post_pdf(io.BytesIO(b"no PDF " + stage.mark.encode()), "alto")
    except ApiRefusalError as error:
        expect(error.code == "NOT_A_PDF", f"refused with {error.code}")
        return f"{error.code}, nothing kept"
    expect(False, "what is no PDF was taken")
    return ""


def _converted(stage: Stage, pdf: bytes, mapping: str) -> bytes:
    job_id, _ = stage.api.post_pdf(io.BytesIO(pdf), mapping)
    stage.ended(job_id)
    job: dict[str, Any] = stage.api.get(f"/convert/jobs/{job_id}")
    expect(job["status"] == "succeeded", f"the conversion is {job['status']}: {job['error']}")
    xml = io.BytesIO()
    stage.api.download(job["result_url"], xml)
    expect(hashlib.sha256(xml.getvalue()).hexdigest() == job["sha256"], "the result has another hash")
    return xml.getvalue()


CONVERSIONS = (
    Scenario("convert.xml", "a printed invoice, read back", words),
    Scenario("convert.xml", "what is no PDF is refused", refused),
)

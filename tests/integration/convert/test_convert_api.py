"""`/convert`: what is taken in, what is refused without a trace, who may see what. No gateway is near: that the work is
done is shown by `tests/fault/convert/test_convert_faults.py`."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
from tests.support.api_server import client_of
from tests.support.engine_fixture import engine_settings
from tests.support.jobs_office import Office, open_office, refused

from quire.entrypoints.convert import convert_handlers
from quire.runtime.database import Database

PDF = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n"
MAX_BYTES = 4096
MAPPINGS = ["alto", "tei", "akn", "facturx", "ubl-invoice"]


@pytest.fixture
async def office(
    dsn: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Office]:
    monkeypatch.setenv("CONVERT_MAX_FILE_BYTES", str(MAX_BYTES))
    monkeypatch.setenv("UPLOADS_DIR", str(tmp_path / "uploads"))
    async with open_office(dsn, database, tmp_path) as office:
        yield office


async def test_directories_for_uploads_and_results_are_made_at_start(office: Office, tmp_path: Path) -> None:
    assert (tmp_path / "uploads").is_dir()
    results = tmp_path / "somewhere" / "results"
    settings = engine_settings(
        office.dsn, tmp_path, RESULTS_DIR=str(results), GATEWAY_URL="http://127.0.0.1:1"
    )
    async with convert_handlers(settings):
        assert results.is_dir()


async def hand_in(
    client: httpx.AsyncClient, pdf: bytes = PDF, mapping: str = "alto", name: str = "a.pdf"
) -> httpx.Response:
    return await client.post(
        "/convert/jobs", files={"file": (name, pdf, "application/pdf")}, data={"mapping": mapping}
    )


async def upload(client: httpx.AsyncClient, pdf: bytes = PDF) -> str:
    place = (await client.post("/convert/uploads", json={"size_bytes": len(pdf)})).json()
    signed = urlsplit(place["url"])
    # The served API of a test learns its port too late to sign for it.
    url = f"{signed.path}?{signed.query}"
    sent = await client.request(place["method"], url, headers=place["headers"], content=pdf)
    assert sent.status_code in (200, 201, 204), sent.text
    return str(place["upload_key"])


async def trace(office: Office) -> tuple[int, list[str], int]:
    """Jobs, kept files, stored objects: what a refused request must leave as it was."""
    async with office.database.acquire() as connection:
        jobs = await connection.fetchval("SELECT count(*) FROM jobs")
    files = sorted(path.name for path in (office.directory / "uploads").iterdir())
    objects = sum(path.is_file() for path in (office.directory / "storage").rglob("*"))
    return int(jobs), files, objects


async def test_a_file_is_taken_in_under_the_jobs_own_id_whatever_its_client_calls_it(office: Office) -> None:
    answer = await hand_in(office.admin, name="../../../etc/passwd\x00.pdf")
    assert answer.status_code == 202, answer.text
    job_id = answer.json()["job_id"]
    assert answer.json() == {"job_id": job_id, "status": "queued"}
    assert answer.headers["Location"] == f"/convert/jobs/{job_id}"
    (kept,) = (office.directory / "uploads").iterdir()
    assert (kept.name, kept.read_bytes()) == (f"{job_id}.pdf", PDF)
    shown = (await office.admin.get(f"/convert/jobs/{job_id}")).json()
    expected = {
        "status": "queued",
        "mapping": "alto",
        "input_sha256": hashlib.sha256(PDF).hexdigest(),
        "input_size_bytes": len(PDF),
        "attempt": 0,
        "error": None,
        "gateway_code": None,
        "result_url": None,
        "result_path": None,
    }
    assert shown.items() >= expected.items()
    listed = (await office.admin.get("/convert/jobs")).json()["items"]
    assert listed == [shown]


async def test_equal_bytes_with_an_equal_mapping_are_one_job_and_one_kept_file(office: Office) -> None:
    first, second = await hand_in(office.admin), await hand_in(office.admin, name="b.pdf")
    assert (first.status_code, second.status_code) == (202, 200)
    assert first.json()["job_id"] == second.json()["job_id"]
    other = await hand_in(office.admin, mapping="tei")
    assert other.status_code == 202
    jobs, files, _ = await trace(office)
    assert jobs == 2
    assert files == sorted(f"{answer.json()['job_id']}.pdf" for answer in (first, other))


async def test_a_file_that_was_uploaded_past_the_api_is_converted_by_its_key(office: Office) -> None:
    key = await upload(office.admin)
    answer = await office.admin.post("/convert/jobs", json={"upload_key": key, "mapping": "tei"})
    assert answer.status_code == 202, answer.text
    kept = office.directory / "uploads" / f"{answer.json()['job_id']}.pdf"
    assert kept.read_bytes() == PDF
    same = await hand_in(office.admin, mapping="tei")
    assert (same.status_code, same.json()["job_id"]) == (200, answer.json()["job_id"])


FORM_REFUSALS: dict[str, tuple[dict[str, Any], int, str]] = {
    "not a PDF": ({"pdf": b"GIF89a, but long enough to be looked at"}, 422, "NOT_A_PDF"),
    "an empty file": ({"pdf": b""}, 422, "NOT_A_PDF"),
    "a head that comes too late": ({"pdf": b"x" * 1024 + PDF}, 422, "NOT_A_PDF"),
    "too large": ({"pdf": PDF + b"x" * MAX_BYTES}, 413, "FILE_TOO_LARGE"),
    "far too large": ({"pdf": PDF + b"x" * 100_000}, 413, "PAYLOAD_TOO_LARGE"),
    "an unknown mapping": ({"mapping": "docx"}, 422, "MAPPING_NOT_ALLOWED"),
    "a mapping that is a path": ({"mapping": "../alto"}, 422, "MAPPING_NOT_ALLOWED"),
    "no mapping": ({"mapping": ""}, 422, "MAPPING_NOT_ALLOWED"),
    "an endless mapping": ({"mapping": "a" * 5000}, 400, "HTTP_400"),
}


async def test_files_that_cannot_be_converted_are_refused_by_name_and_leave_nothing(office: Office) -> None:
    before = await trace(office)
    for name, (fields, status, code) in FORM_REFUSALS.items():
        problem = refused(await hand_in(office.admin, **fields), status, code)
        assert str(office.directory) not in str(problem), name
    assert await trace(office) == before


async def test_forms_and_bodies_of_another_shape_are_refused_and_leave_nothing(office: Office) -> None:
    before = await trace(office)
    url, client = "/convert/jobs", office.admin
    two = [("file", ("a", PDF)), ("file", ("b", PDF))]
    refused(await client.post(url, files={"file": PDF}), 422, "VALIDATION_FAILED")
    refused(await client.post(url, files={"mapping": b"alto", "x": b"y"}), 422, "VALIDATION_FAILED")
    refused(await client.post(url, files=two, data={"mapping": "alto"}), 422, "VALIDATION_FAILED")
    refused(await client.post(url, data={"mapping": "alto"}), 415, "UNSUPPORTED_MEDIA_TYPE")
    refused(await client.post(url, content=b"%PDF-1.7"), 415, "UNSUPPORTED_MEDIA_TYPE")
    refused(await client.post(url, json={"mapping": "alto"}), 422, "VALIDATION_FAILED")
    refused(await client.post(url, json=["alto"]), 422, "VALIDATION_FAILED")
    broken = {"Content-Type": "multipart/form-data"}
    refused(await client.post(url, content=b"--x", headers=broken), 400, "HTTP_400")
    assert await trace(office) == before


async def test_upload_keys_lead_to_the_callers_own_uploads_only(office: Office) -> None:
    ann, ben = await office.caller("ann", tenant="acme"), await office.caller("ben", tenant="acme")
    foreign, neighbours = await upload(office.admin), await upload(ben)
    before = await trace(office)
    for key, status, code in [
        (foreign, 404, "UPLOAD_NOT_FOUND"),
        (neighbours, 404, "UPLOAD_NOT_FOUND"),
        (f"convert/uploads/acme/{uuid4()}.pdf", 404, "UPLOAD_NOT_FOUND"),
        (f"convert/uploads/acme/../default/{foreign.rpartition('/')[2]}", 422, "STORAGE_KEY_INVALID"),
        ("../../etc/passwd", 422, "STORAGE_KEY_INVALID"),
        ("/etc/passwd", 422, "STORAGE_KEY_INVALID"),
        ("convert/uploads/acme/%2e%2e/x", 422, "STORAGE_KEY_INVALID"),
        ("results/x/1-1.xml", 404, "UPLOAD_NOT_FOUND"),
    ]:
        answer = await ann.post("/convert/jobs", json={"upload_key": key, "mapping": "alto"})
        refused(answer, status, code)
    refused(await ann.post("/convert/uploads", json={"size_bytes": MAX_BYTES + 1}), 413, "FILE_TOO_LARGE")
    assert await trace(office) == before


async def test_a_conversion_is_shown_to_who_asked_for_it_and_to_nobody_else(office: Office) -> None:
    ann, ben = await office.caller("ann"), await office.caller("ben")
    stranger = await office.caller("eve", "admin", tenant="other")
    job_id = (await hand_in(ann)).json()["job_id"]
    for path in (f"/convert/jobs/{job_id}", f"/convert/jobs/{job_id}/result"):
        refused(await stranger.get(path), 404, "JOB_NOT_FOUND")
        refused(await ben.get(path), 403, "CONVERSION_NOT_YOURS")
    refused(await stranger.delete(f"/convert/jobs/{job_id}"), 404, "JOB_NOT_FOUND")
    refused(await ann.get("/convert/jobs/not-an-id"), 404, "JOB_NOT_FOUND")
    refused(await ann.get(f"/convert/jobs/{uuid4()}"), 404, "JOB_NOT_FOUND")
    assert (await hand_in(ben)).json()["job_id"] == job_id
    assert (await ben.get(f"/convert/jobs/{job_id}")).status_code == 200
    assert (await stranger.get("/convert/jobs")).json()["items"] == []


async def test_a_result_is_promised_then_refused_or_gone_by_the_state_of_its_job(office: Office) -> None:
    job_id = (await hand_in(office.admin)).json()["job_id"]
    url = f"/convert/jobs/{job_id}/result"
    waiting = await office.admin.get(url)
    assert (waiting.status_code, waiting.headers["Retry-After"]) == (202, "1")
    assert waiting.json() == {"job_id": job_id, "status": "queued"}
    cancelled = await office.admin.delete(f"/convert/jobs/{job_id}")
    assert (cancelled.status_code, cancelled.json()["status"]) == (202, "cancelled")
    refused(await office.admin.get(url), 409, "CONVERSION_CANCELLED")
    async with office.database.acquire() as connection:
        await connection.execute("UPDATE jobs SET expires_at = now() - interval '1 s'")
    refused(await office.admin.get(url), 410, "CONVERSION_EXPIRED")


async def test_the_mappings_that_may_be_asked_for_are_listed_with_what_they_give(office: Office) -> None:
    listed = (await office.admin.get("/convert/mappings")).json()
    assert [item["name"] for item in listed] == MAPPINGS
    assert all(item["description"] for item in listed)
    async with client_of(office.url) as nobody:
        assert (await nobody.get("/convert/mappings")).status_code == 401

"""`/pdf` over HTTP with a real worker and browser behind it, by the table of its contract."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.support.press import (
    Press,
    document,
    ended,
    refused,
    rejected_document,
    rendered,
    sample,
    submit,
    until,
)
from tests.support.press import press as press
from tests.support.printing import text_of
from tests.support.webhook_receiver import receiving

from quire.runtime.settings import load_settings
from quire.runtime.telemetry.metric_shipper import EVERY_SECONDS as SHIP_SECONDS

MARKUP = '</style></title><script>alert(1)</script><img src="http://203.0.113.7/x">{{7*7}}'
STATES = ("queued", "running", "succeeded", "failed", "expired")
STYLE = '"; } @page { size: 10mm 10mm } } * { display: none } /*'


@pytest.fixture(scope="module")
def ann(press: Press) -> httpx.Client:
    return press.caller("ann")


@pytest.fixture(scope="module")
def admin(press: Press) -> httpx.Client:
    return press.caller("root", "admin")


@pytest.fixture(scope="module")
def platform(press: Press) -> httpx.Client:
    """An operator of the whole installation."""
    return press.caller("pat", "operator", scopes=frozenset({"platform"}))


@pytest.fixture(scope="module")
def raw(press: Press) -> httpx.Client:
    return press.caller("rae", scopes=frozenset({"raw_html"}))


@pytest.fixture(scope="module")
def invoice(ann: httpx.Client) -> dict[str, Any]:
    """One printed invoice for all who only look."""
    return rendered(ann, document("shared"))


@contextmanager
def held_queue(platform: httpx.Client) -> Iterator[None]:
    """Documents stay queued meanwhile."""
    assert platform.post("/queues/render_pdf/pause").is_success
    try:
        yield
    finally:
        assert platform.post("/queues/render_pdf/resume").is_success


def page_size(pdf: bytes) -> str:
    said = subprocess.run(["pdfinfo", "-"], input=pdf, capture_output=True, check=True).stdout.decode()
    return re.search(r"Page size: +(.+)", said)[1]  # type: ignore[index]


def page_of(client: httpx.Client, body: dict[str, Any]) -> str:
    answer = client.post("/pdf/preview", json=body)
    assert answer.status_code == 200, answer.text
    return answer.text


# --- the life of a document


def test_new_document_is_accepted_and_the_same_again_is_the_same_job(ann: httpx.Client) -> None:
    first = ann.post("/pdf/jobs", json=document("life"))
    job_id = first.json()["job_id"]
    assert (first.status_code, first.json()) == (202, {"job_id": job_id, "status": "queued"})
    assert first.headers["Location"] == f"/pdf/jobs/{job_id}"
    again = ann.post("/pdf/jobs", json=document("life"))
    assert (again.status_code, again.json()["job_id"]) == (200, job_id)
    assert ended(ann, job_id)["status"] == "succeeded"
    done = ann.post("/pdf/jobs", json=document("life"))
    assert (done.status_code, done.json()) == (200, {"job_id": job_id, "status": "succeeded"})


def test_finished_document_tells_all_about_itself(ann: httpx.Client, invoice: dict[str, Any]) -> None:
    assert (invoice["template_name"], invoice["template_version"]) == ("invoice", "1.0")
    assert invoice["created_at"] <= invoice["started_at"] <= invoice["finished_at"] < invoice["expires_at"]
    assert (invoice["attempt"], invoice["retry_count"], invoice["error"]) == (1, 0, None)
    assert invoice["download_url"] == f"/pdf/jobs/{invoice['job_id']}/download"
    assert (invoice["pages"], invoice["blocked_urls"]) == (1, [])
    listed = {item["job_id"]: item["download_url"] for item in ann.get("/pdf/jobs").json()["items"]}
    assert listed[invoice["job_id"]] == invoice["download_url"]


def test_download_is_named_by_its_hash_and_comes_whole_or_in_part(
    ann: httpx.Client, invoice: dict[str, Any]
) -> None:
    whole = ann.get(invoice["download_url"])
    etag = f'"{hashlib.sha256(whole.content).hexdigest()}"'
    assert whole.content.startswith(b"%PDF-")
    assert whole.headers["Content-Type"] == "application/pdf"
    assert whole.headers["ETag"] == etag == f'"{invoice["sha256"]}"'
    assert whole.headers["Content-Disposition"].startswith('attachment; filename="invoice.pdf"')
    part = ann.get(invoice["download_url"], headers={"Range": "bytes=5-14"})
    assert (part.status_code, part.content) == (206, whole.content[5:15])
    assert part.headers["Content-Range"] == f"bytes 5-14/{len(whole.content)}"
    beyond = {"Range": f"bytes={len(whole.content)}-"}
    assert ann.get(invoice["download_url"], headers=beyond).status_code == 416
    assert ann.get(invoice["download_url"], headers={"If-None-Match": etag}).status_code == 304


def test_unfinished_document_is_not_there_yet_and_a_deleted_one_never_will_be(
    ann: httpx.Client, platform: httpx.Client
) -> None:
    with held_queue(platform):
        job_id = submit(ann, document("held"))
        waiting = ann.get(f"/pdf/jobs/{job_id}/download")
        assert (waiting.status_code, waiting.json()["status"]) == (202, "queued")
        assert int(waiting.headers["Retry-After"]) >= 1
        deleted = ann.delete(f"/pdf/jobs/{job_id}")
        assert (deleted.status_code, deleted.json()["status"]) == (202, "cancelled")
    refused(ann.get(f"/pdf/jobs/{job_id}/download"), 409, "PDF_CANCELLED")
    assert ann.get(f"/pdf/jobs/{job_id}").json()["download_url"] is None


def test_document_comes_in_the_answer_to_who_asks_for_a_pdf(
    ann: httpx.Client, platform: httpx.Client
) -> None:
    as_pdf = {"Accept": "text/html;q=0.1, application/pdf"}
    first = ann.post("/pdf/jobs", json=document("in one call"), headers=as_pdf)
    assert (first.status_code, first.headers["Content-Type"]) == (200, "application/pdf")
    job = ann.get(first.headers["Location"]).json()
    assert hashlib.sha256(first.content).hexdigest() == job["sha256"]
    again = ann.post("/pdf/jobs", json=document("in one call"), headers=as_pdf)
    assert (again.content, again.headers["Location"]) == (first.content, first.headers["Location"])
    with held_queue(platform):
        late = ann.post("/pdf/jobs", json=document("late"), headers=as_pdf, params={"wait": 0})
        assert (late.status_code, late.json()["status"]) == (202, "queued")
        assert ann.delete(late.headers["Location"]).json()["status"] == "cancelled"
        assert late.headers["Retry-After"]


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def change(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:200] + b"????" + whole[204:])


@pytest.mark.parametrize("harm", [Path.unlink, cut_off, change])
def test_document_whose_bytes_are_gone_or_wrong_is_made_again_for_who_asks_for_a_pdf(
    press: Press, ann: httpx.Client, harm: Callable[[Path], None]
) -> None:
    as_pdf, wanted = {"Accept": "application/pdf"}, document(f"harmed by {harm.__name__}")
    first = ann.post("/pdf/jobs", json=wanted, headers=as_pdf)
    job_id = first.headers["Location"].rpartition("/")[2]
    (file,) = (path for path in press.directory.rglob(f"{job_id}/*") if path.is_file())
    harm(file)
    again = ann.post("/pdf/jobs", json=wanted, headers=as_pdf)
    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["Location"] != first.headers["Location"]
    assert ann.get(first.headers["Location"]).json()["status"] == "expired"
    assert not file.exists()


def test_document_cut_off_in_storage_is_made_again_and_what_is_left_of_it_goes(
    press: Press, ann: httpx.Client
) -> None:
    job = rendered(ann, document("cut off"))
    (file,) = (path for path in press.directory.rglob(f"{job['job_id']}/*") if path.is_file())
    cut_off(file)
    again = rendered(ann, document("cut off"))
    assert (again["sha256"], again["job_id"] != job["job_id"]) == (job["sha256"], True)
    assert not file.exists()


def test_download_may_wait_for_its_document(ann: httpx.Client) -> None:
    answer = ann.get(f"/pdf/jobs/{submit(ann, document('waited for'))}/download", params={"wait": 30})
    assert (answer.status_code, answer.content[:4]) == (200, b"%PDF")
    assert ann.get(f"/pdf/jobs/{uuid4()}/download", params={"wait": 30}).status_code == 404


def test_failed_document_answers_with_its_error_and_may_be_asked_for_again(ann: httpx.Client) -> None:
    job = ended(ann, submit(ann, rejected_document("fails")))
    assert (job["status"], job["attempt"]) == ("failed", 1)
    assert job["error"]["error_code"] == "TEMPLATE_ERROR"
    assert "/totals" in job["error"]["message"]
    problem = refused(ann.get(f"/pdf/jobs/{job['job_id']}/download"), 409, "TEMPLATE_ERROR")
    assert "/totals" in problem["detail"]
    assert submit(ann, rejected_document("fails")) != job["job_id"]


def test_expired_document_is_gone_but_its_bytes_are_still_known(press: Press, ann: httpx.Client) -> None:
    job = rendered(ann, document("expires"))
    press.sql("UPDATE jobs SET expires_at = now() - interval '1 s' WHERE id = $1", job["job_id"])
    until(lambda: ann.get(f"/pdf/jobs/{job['job_id']}").json()["status"] == "expired")
    refused(ann.get(job["download_url"]), 410, "PDF_EXPIRED")
    asked = {"sha256": job["sha256"], "job_id": job["job_id"]}
    assert ann.get("/pdf/verify", params=asked).json()["genuine"]
    assert submit(ann, document("expires")) != job["job_id"]


def test_sweep_deletes_the_bytes_of_an_expired_document_and_comes_every_hour(
    press: Press, ann: httpx.Client
) -> None:
    assert load_settings().sweep_seconds == 3600
    job_id = rendered(ann, document("swept"))["job_id"]

    def files() -> list[str]:
        walk = os.walk(press.directory)
        return [name for folder, _, names in walk for name in names if job_id in f"{folder}/{name}"]

    assert len(files()) == 1
    press.sql("UPDATE jobs SET expires_at = now() - interval '1 s' WHERE id = $1", job_id)
    until(lambda: not files())
    until(lambda: press.sql("SELECT state FROM jobs WHERE id = $1", job_id)[0]["state"] == "expired")


def test_fifty_identical_requests_at_once_make_one_job_and_one_artifact(
    press: Press, ann: httpx.Client, platform: httpx.Client
) -> None:
    with held_queue(platform), ThreadPoolExecutor(50) as crowd:
        answers = list(crowd.map(lambda _: ann.post("/pdf/jobs", json=document("crowd")), range(50)))
    assert sorted(answer.status_code for answer in answers) == [200] * 49 + [202]
    (job_id,) = {answer.json()["job_id"] for answer in answers}
    assert ended(ann, job_id)["status"] == "succeeded"
    (artifact,) = press.sql("SELECT artifact_key FROM artifacts WHERE job_id = $1", job_id)
    assert re.fullmatch(rf"pdfs/{job_id}/\d{{8}}T\d{{12}}Z\.pdf", artifact["artifact_key"])


# --- lists, templates, previews, verification


def test_list_holds_ones_own_documents_newest_first_in_pages(
    press: Press, admin: httpx.Client, platform: httpx.Client
) -> None:
    bea = press.caller("bea")
    assert bea.get("/pdf/jobs").json() == {"items": [], "next_cursor": None}
    with held_queue(platform):
        ids = [submit(bea, document(f"list {n}")) for n in range(3)]
        bea.delete(f"/pdf/jobs/{ids[0]}")
        first = bea.get("/pdf/jobs", params={"limit": 2}).json()
        rest = bea.get("/pdf/jobs", params={"limit": 2, "cursor": first["next_cursor"]}).json()
        assert [item["job_id"] for item in (*first["items"], *rest["items"])] == ids[::-1]
        cancelled = bea.get("/pdf/jobs", params={"state": "cancelled"}).json()["items"]
        assert [item["job_id"] for item in cancelled] == [ids[0]]
        for job_id in ids[1:]:
            bea.delete(f"/pdf/jobs/{job_id}")
    assert bea.get("/pdf/jobs", params={"state": "nonsense"}).status_code == 422
    assert set(ids) <= {item["job_id"] for item in admin.get("/pdf/jobs").json()["items"]}


def test_templates_show_what_may_be_used_and_how(ann: httpx.Client) -> None:
    listed = ann.get("/pdf/templates").json()
    assert [item["name"] for item in listed] == ["contract", "invoice", "receipt", "report", "statement"]
    shown = ann.get("/pdf/templates/invoice").json()
    assert (shown["versions"], shown["sample"]) == (["1.0"], sample("invoice"))
    assert shown["payload_schema"]["type"] == "object"
    refused(ann.get("/pdf/templates/..%2F..%2Fetc"), 404, "ROUTE_NOT_FOUND")
    unknown = refused(ann.get("/pdf/templates/nonsense"), 404, "TEMPLATE_NOT_FOUND")
    asked = ann.post("/pdf/jobs", json=document("off") | {"template_name": "nonsense"})
    assert refused(asked, 422, "TEMPLATE_ERROR")["detail"] == unknown["detail"]
    assert "contract, invoice, receipt" in unknown["detail"]


def test_preview_is_the_page_that_would_be_printed_and_can_do_nothing(ann: httpx.Client) -> None:
    answer = ann.post("/pdf/preview", json=document("preview"))
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert sample()["number"] in answer.text


def test_bytes_are_known_again_by_who_may_see_them(
    press: Press, ann: httpx.Client, admin: httpx.Client, invoice: dict[str, Any]
) -> None:
    asked = {"sha256": invoice["sha256"]}
    for knows in (ann, admin):
        found = knows.get("/pdf/verify", params=asked).json()
        assert (found["genuine"], found["job"]["job_id"]) == (True, invoice["job_id"])
    for stranger in (press.caller("eve"), press.caller("mallory", "admin", tenant="other")):
        assert stranger.get("/pdf/verify", params=asked).json()["job"] is None
    altered = {"sha256": "0" * 64, "job_id": invoice["job_id"]}
    assert ann.get("/pdf/verify", params=altered).json()["genuine"] is False
    assert ann.get("/pdf/verify", params={"sha256": "abc"}).status_code == 422


# --- who may


@pytest.mark.parametrize("path", ["", "/download"])
def test_document_is_its_creators_and_the_tenants_admins(
    press: Press, ann: httpx.Client, admin: httpx.Client, invoice: dict[str, Any], path: str
) -> None:
    url = f"/pdf/jobs/{invoice['job_id']}{path}"
    assert ann.get(url).status_code == admin.get(url).status_code == 200
    refused(press.caller("eve").get(url), 403, "DOCUMENT_NOT_YOURS")
    refused(press.caller("oscar", "operator").get(url), 403, "DOCUMENT_NOT_YOURS")
    refused(press.caller("mallory", "admin", tenant="other").get(url), 404, "JOB_NOT_FOUND")
    for unknown in (str(uuid4()), "no-uuid", "%2e%2e", "1" * 500):
        refused(ann.get(f"/pdf/jobs/{unknown}{path}"), 404, "JOB_NOT_FOUND")


def test_nobody_elses_document_can_be_deleted(press: Press, invoice: dict[str, Any]) -> None:
    url = f"/pdf/jobs/{invoice['job_id']}"
    refused(press.caller("eve").delete(url), 403, "DOCUMENT_NOT_YOURS")
    refused(press.caller("mallory", "admin", tenant="other").delete(url), 404, "JOB_NOT_FOUND")


def test_who_asks_for_the_same_document_may_have_it_and_another_tenant_gets_its_own(
    press: Press, invoice: dict[str, Any]
) -> None:
    bob, zoe = press.caller("bob"), press.caller("zoe", tenant="other")
    assert bob.post("/pdf/jobs", json=document("shared")).json()["job_id"] == invoice["job_id"]
    assert bob.get(invoice["download_url"]).status_code == 200
    other = rendered(zoe, document("shared"))
    assert other["job_id"] != invoice["job_id"]
    assert other["sha256"] == invoice["sha256"]


# --- what is refused


def test_payload_past_its_limit_is_too_large(ann: httpx.Client) -> None:
    large = document("large")
    large["payload"]["note"] = "x" * 200_000
    refused(ann.post("/pdf/jobs", json=large), 413, "PAYLOAD_TOO_LARGE")
    large["payload"]["note"] = "x" * 2_000_000
    refused(ann.post("/pdf/jobs", json=large), 413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"payload": {}}, "/payload"),
        ({"payload": sample() | {"lines": [{"name": 5}]}}, "/payload/lines/0"),
        ({"payload": sample() | {"issued_on": "yesterday"}}, "/payload/issued_on"),
        ({"options": {"paper": "napkin"}}, "/options/paper"),
    ],
)
def test_payload_that_does_not_fit_is_refused_with_its_place(
    ann: httpx.Client, change: dict[str, Any], pointer: str
) -> None:
    body = refused(ann.post("/pdf/jobs", json=document("bad") | change), 422, "TEMPLATE_ERROR")
    assert body["pointer"].startswith(pointer)
    assert not body["retryable"]


@pytest.mark.parametrize("name", ["nonsense", "../invoice", "INVOICE", "invoice/1.0", "raw_html", "_shared"])
def test_template_off_the_list_is_refused(ann: httpx.Client, name: str) -> None:
    refused(ann.post("/pdf/jobs", json=document("off") | {"template_name": name}), 422, "TEMPLATE_ERROR")


def test_worker_refuses_a_template_that_is_not_allowed_where_it_runs(
    press: Press, ann: httpx.Client, platform: httpx.Client
) -> None:
    """As when the list of the API was longer when it accepted the document."""
    with held_queue(platform):
        job_id = submit(ann, document("off in the worker"))
        rename = (
            """UPDATE jobs SET payload = jsonb_set(payload, '{template_name}', '"nonsense"') WHERE id = $1"""
        )
        press.sql(rename, job_id)
    job = ended(ann, job_id)
    assert (job["status"], job["attempt"], job["error"]["error_code"]) == ("failed", 1, "TEMPLATE_ERROR")
    assert "nonsense" in job["error"]["message"]


def test_api_accepts_documents_and_prints_none_itself(
    press: Press, ann: httpx.Client, platform: httpx.Client
) -> None:
    """No browser ever belonged to it, while the same documents had the worker start one."""
    rendered(ann, document("printed elsewhere"))
    with held_queue(platform):
        job_id = submit(ann, document("printed by nobody"))
        ann.get(f"/pdf/jobs/{job_id}", params={"wait": 2})
        assert ann.get(f"/pdf/jobs/{job_id}").json()["status"] == "queued"
        assert press.browsers_of("api") == 0
        assert press.browsers_of("worker") > 0
        ann.delete(f"/pdf/jobs/{job_id}")


def test_unknown_version_and_unknown_option_are_refused(ann: httpx.Client) -> None:
    refused(ann.post("/pdf/jobs", json=document("v", template_version="9.9")), 422, "TEMPLATE_ERROR")
    refused(ann.post("/pdf/jobs", json=document("o", options={"scale": 3})), 422, "VALIDATION_FAILED")


def test_raw_html_needs_its_scope_and_reaches_nothing(ann: httpx.Client, raw: httpx.Client) -> None:
    html = (
        '<h1>Raw</h1><script>document.body.textContent = "ran"</script><img src="http://203.0.113.7/x.png">'
    )
    body = {"template_name": "invoice", "payload": {"html": html}}
    refused(ann.post("/pdf/jobs", json=body), 403, "SCOPE_REQUIRED")
    refused(ann.post("/pdf/preview", json=body), 403, "SCOPE_REQUIRED")
    job = rendered(raw, body)
    assert job["blocked_urls"] == ["http://203.0.113.7/x.png"]
    assert text_of(raw.get(job["download_url"]).content).strip() == "Raw"
    two = raw.post("/pdf/jobs", json={"template_name": "invoice", "payload": {"html": "x", "more": 1}})
    refused(two, 422, "TEMPLATE_ERROR")


def test_raw_job_cannot_be_made_through_the_general_door(admin: httpx.Client) -> None:
    payload = {"template_name": "raw_html", "template_version": "0", "template_hash": "", "html": "<p>x"}
    answer = admin.post("/jobs", json={"kind": "render.pdf", "payload": payload})
    assert answer.status_code in (404, 422), answer.text


# --- nothing a caller sends becomes code


@pytest.mark.parametrize("hostile", [MARKUP, STYLE], ids=["markup", "style"])
def test_options_are_text_and_nothing_else(ann: httpx.Client, hostile: str) -> None:
    names = ("header", "footer", "title", "author", "keywords")
    body = document("options", options=dict.fromkeys(names, hostile))
    page = page_of(ann, body)
    assert "<script" not in page
    assert '203.0.113.7/x"' not in page.replace("&quot;", "")
    job = rendered(ann, body)
    pdf = ann.get(job["download_url"]).content
    assert job["blocked_urls"] == []
    assert page_size(pdf) == "594.96 x 841.92 pts (A4)"
    assert sample()["number"] in text_of(pdf)


def test_template_data_is_text_and_nothing_else(ann: httpx.Client) -> None:
    body = document("data")
    body["payload"]["seller"]["name"] = MARKUP
    body["payload"]["lines"][0]["name"] = STYLE
    assert "<script>alert" not in page_of(ann, body)
    job = rendered(ann, body)
    text = " ".join(text_of(ann.get(job["download_url"]).content).split())
    assert job["blocked_urls"] == []
    assert "<script>alert(1)</script>" in text
    assert "{{7*7}}" in text


def test_options_shape_the_page(ann: httpx.Client) -> None:
    options = {"paper": "A5", "landscape": True, "title": "Fatura № 7", "tagged": True, "outline": True}
    pdf = ann.get(rendered(ann, document("shape", options=options))["download_url"]).content
    assert page_size(pdf) == "594.96 x 420 pts (A5)"
    said = subprocess.run(["pdfinfo", "-"], input=pdf, capture_output=True, check=True).stdout.decode()
    assert re.search(r"Title: +Fatura № 7", said)
    assert re.search(r"Tagged: +yes", said)


# --- who hears of it


def scraped(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_metrics_move_with_every_document(press: Press, ann: httpx.Client, platform: httpx.Client) -> None:
    def figures() -> dict[str, float]:
        now = platform.get("/metrics").text
        names = {f"jobs {state}": f'ptf_admin_pdf_jobs_total{{status="{state}"}}' for state in STATES}
        counts = {name: scraped(now, sought) for name, sought in names.items()}
        return counts | {
            "total": scraped(now, "ptf_admin_pdf_render_total_seconds_count"),
            "executor": scraped(now, "ptf_admin_pdf_render_executor_seconds_count"),
            "duration": scraped(now, "pdf_render_duration_seconds_count"),
            "refusals": scraped(now, 'ptf_admin_pdf_failures_total{error_code="TEMPLATE_ERROR"}'),
        }

    def moved() -> dict[str, float]:
        return {name: now - before[name] for name, now in figures().items()}

    before = _settled(figures)
    good = rendered(ann, document("metrics"))
    assert ended(ann, submit(ann, rejected_document("metrics")))["status"] == "failed"
    press.sql("UPDATE jobs SET expires_at = now() - interval '1 s' WHERE id = $1", good["job_id"])
    by_state = {"jobs queued": 2, "jobs running": 2, "jobs succeeded": 1, "jobs failed": 1, "jobs expired": 1}
    expected = by_state | {"total": 2, "executor": 1, "duration": 1, "refusals": 1}
    until(lambda: moved()["jobs expired"] >= 1 and moved()["total"] >= 2)
    assert _settled(moved) == expected

    alone = platform.get("/metrics", params={"of": "process"}).text
    assert scraped(alone, 'ptf_admin_pdf_jobs_total{status="succeeded"}') == 0.0
    with held_queue(platform):
        job_id = submit(ann, document("depth"))
        until(lambda: scraped(platform.get("/metrics").text, "ptf_admin_pdf_queue_depth") == 1.0)
    ended(ann, job_id)
    until(lambda: scraped(platform.get("/metrics").text, "ptf_admin_pdf_queue_depth") == 0.0)


def _settled(figures: Callable[[], dict[str, float]]) -> dict[str, float]:
    """The figures once every process has written what it counted: they have not moved for longer than it waits."""
    quiet_since, seen = time.monotonic(), figures()
    while time.monotonic() - quiet_since < 2 * SHIP_SECONDS:
        now = figures()
        if now != seen:
            quiet_since, seen = time.monotonic(), now
        time.sleep(0.2)
    return seen


async def test_success_and_failure_are_told_to_who_subscribed(ann: httpx.Client, admin: httpx.Client) -> None:
    async with receiving() as receiver:
        wanted = {
            "url": receiver.url(),
            "kinds": ["render.*"],
            "event_types": ["job.succeeded", "job.failed"],
        }
        made = await asyncio.to_thread(lambda: admin.post("/webhooks", json=wanted))
        assert made.is_success, made.text
        good = await asyncio.to_thread(submit, ann, document("hook"))
        bad = await asyncio.to_thread(submit, ann, rejected_document("hook"))
        messages = await receiver.until(2, 60)
        told = {message.event["data"]["job_id"]: message.event for message in messages}
        await asyncio.to_thread(lambda: admin.delete(f"/webhooks/{made.json()['id']}"))
    assert told[good]["type"] == "job.succeeded"
    assert told[good]["data"]["has_artifact"]
    assert (told[bad]["type"], told[bad]["data"]["error_code"]) == ("job.failed", "TEMPLATE_ERROR")

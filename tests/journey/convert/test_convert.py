"""`quire convert` against a whole Quire: `quire up` brings a gateway of its own."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pypdf import PdfReader
from tests.support.quire_up import QuireUp, clean_environment
from tests.support.text_pdf import text_pdf
from tests.unit.render.packs import payload


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuireUp]:
    quire = QuireUp(tmp_path_factory.mktemp("up") / "data")
    try:
        yield quire.wait_ready()
    finally:
        quire.interrupt()


def convert(running: QuireUp, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(running, directory, "convert", *arguments)


def run(
    running: QuireUp, directory: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "quire", *arguments, "--data-dir", str(running.data_dir)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=directory,
        env=clean_environment() | environment,
    )


def test_a_pdf_becomes_xml_on_the_command_line(running: QuireUp, tmp_path: Path) -> None:
    (tmp_path / "letter.pdf").write_bytes(text_pdf("Quire converts"))
    done = convert(running, tmp_path, "letter.pdf", "--mapping", "alto")
    assert done.returncode == 0, done.stderr
    assert 'CONTENT="converts"' in (tmp_path / "letter.alto.xml").read_text()
    again = convert(running, tmp_path, "letter.pdf", "-m", "alto", "-o", "again.xml", "--json")
    job = json.loads(again.stdout)
    assert (job["status"], job["attempt"], job["file"]) == ("succeeded", 1, "again.xml")
    logs = running.data_dir / "logs"
    steps = [*steps_in(logs / "api.log", job["job_id"]), *steps_in(logs / "worker-1.log", job["job_id"])]
    assert [step for step, _ in steps] == ["accepted", "claim", "start", "gateway_ok", "complete"]
    assert len({trace for _, trace in steps}) == 1
    assert (tmp_path / "again.xml").read_bytes() == (tmp_path / "letter.alto.xml").read_bytes()


def steps_in(log: Path, job_id: str) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in log.read_text().splitlines() if job_id in line and line[:1] == "{"]
    return [(line["event"], line["trace_id"]) for line in lines if line.get("job_id") == job_id]


def test_a_pdf_without_text_is_told_and_nothing_is_written_over_it(running: QuireUp, tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(text_pdf(""))
    for mapping in ("alto", "tei", "akn"):
        done = convert(running, tmp_path, "scan.pdf", "-m", mapping)
        assert (done.returncode, "no text in it" in done.stderr) == (0, True), done.stderr
    over = convert(running, tmp_path, "scan.pdf", "-m", "tei", "-o", "../" + tmp_path.name + "/scan.pdf")
    assert (over.returncode, "it is the PDF itself" in over.stderr) == (1, True)
    assert (tmp_path / "scan.pdf").read_bytes() == text_pdf("")
    into = convert(running, tmp_path, "scan.pdf", "-m", "tei", "-o", ".")
    assert (into.returncode, "it is a directory" in into.stderr) == (1, True), into.stderr


def test_the_invoice_in_a_printed_pdf_comes_back_out_as_it_went_in(running: QuireUp) -> None:
    headers = {"Authorization": f"Bearer {running.token}"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=60) as client:
        wanted = {"template_name": "invoice", "payload": payload("invoice")}
        printed = done(client, client.post("/pdf/jobs", json=wanted))
        pdf = client.get(printed["download_url"]).content
        form = {"mapping": "facturx"}
        converted = done(client, client.post("/convert/jobs", data=form, files={"file": ("a.pdf", pdf)}))
        xml = client.get(converted["result_url"]).content
        assert client.get("/convert/jobs", params={"limit": 1}).json()["items"] == [converted]
    # Read by another library than the one that the gateway reads with.
    (embedded,) = PdfReader(io.BytesIO(pdf)).attachments["factur-x.xml"]
    assert payload("invoice")["number"].encode() in xml
    assert xml == embedded
    assert hashlib.sha256(xml).hexdigest() == converted["sha256"]


def done(client: httpx.Client, accepted: httpx.Response) -> dict[str, Any]:
    assert accepted.status_code == 202, accepted.text
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        job: dict[str, Any] = client.get(accepted.headers["Location"], params={"wait": 20}).json()
        if job["status"] not in ("queued", "running"):
            break
    assert job["status"] == "succeeded", job
    return job


def test_a_result_is_xml_named_by_its_hash_and_fetched_whole_or_in_parts(running: QuireUp) -> None:
    wanted = {"data": {"mapping": "alto"}, "files": {"file": ("a.pdf", text_pdf("in parts"))}}
    headers = {"Authorization": f"Bearer {running.token}"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=60) as client:
        job = done(client, client.post("/convert/jobs", **wanted))
        url = f"/convert/jobs/{job['job_id']}/result"
        whole = client.get(url)
        assert (whole.status_code, whole.headers["Content-Type"]) == (200, "application/xml")
        assert (
            whole.headers["ETag"] == f'"{hashlib.sha256(whole.content).hexdigest()}"' == f'"{job["sha256"]}"'
        )
        assert whole.headers["Accept-Ranges"] == "bytes"
        assert f'filename="{job["job_id"]}.xml"' in whole.headers["Content-Disposition"]

        part = client.get(url, headers={"Range": "bytes=5-99"})
        assert (part.status_code, part.content) == (206, whole.content[5:100])
        size_bytes = len(whole.content)
        assert part.headers["Content-Range"] == f"bytes 5-99/{size_bytes}"
        assert (part.headers["Content-Type"], part.headers["ETag"]) == (
            "application/xml",
            whole.headers["ETag"],
        )
        last = client.get(url, headers={"Range": "bytes=-7"})
        assert (last.status_code, last.content) == (206, whole.content[-7:])
        beyond = client.get(url, headers={"Range": f"bytes={size_bytes}-"})
        assert (beyond.status_code, beyond.headers["Content-Range"]) == (416, f"bytes */{size_bytes}")
        known = client.get(url, headers={"If-None-Match": whole.headers["ETag"]})
        assert (known.status_code, known.content) == (304, b"")


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def change(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:50] + b"????" + whole[54:])


@pytest.mark.parametrize("harm", [Path.unlink, cut_off, change])
def test_a_file_whose_result_is_gone_or_wrong_is_converted_again_for_who_hands_it_in_again(
    running: QuireUp, harm: Callable[[Path], None]
) -> None:
    wanted = {
        "data": {"mapping": "tei"},
        "files": {"file": ("a.pdf", text_pdf(f"harmed by {harm.__name__}"))},
    }
    headers = {"Authorization": f"Bearer {running.token}"}
    with httpx.Client(base_url=running.url, headers=headers, timeout=60) as client:
        first = done(client, client.post("/convert/jobs", **wanted))
        (file,) = running.data_dir.rglob(f"results/{first['job_id']}/*")
        assert client.post("/convert/jobs", **wanted).json()["job_id"] == first["job_id"]
        harm(file)
        again = done(client, client.post("/convert/jobs", **wanted))
        assert (again["sha256"], again["job_id"] != first["job_id"]) == (first["sha256"], True)
        assert client.get(f"/convert/jobs/{first['job_id']}").json()["status"] == "expired"
    assert not file.exists()


def test_what_the_gateway_refuses_is_said_with_its_own_code(running: QuireUp, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing else")
    done = convert(running, tmp_path, "broken.pdf", "--mapping", "alto")
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith(
        "error: GW_4XX (PDF_DAMAGED): the gateway answered 422: its end is missing: "
    )
    assert re.search(r", job [0-9a-f-]{36}\n$", done.stderr)
    again = json.loads(convert(running, tmp_path, "broken.pdf", "-m", "alto", "--json").stdout)
    assert (again["error"]["error_code"], again["gateway_code"]) == ("GW_4XX", "PDF_DAMAGED")
    job_url = f"{running.url}/convert/jobs/{again['job_id']}"
    result = httpx.get(f"{job_url}/result", headers={"Authorization": f"Bearer {running.token}"}, timeout=60)
    assert (result.status_code, result.json()["gateway_code"]) == (409, "PDF_DAMAGED")
    assert not list(tmp_path.glob("*.xml"))
    listed = run(running, tmp_path, "problems", "list", FORCE_COLOR="1", COLUMNS="80").stdout.splitlines()
    rows = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in listed]
    assert any("PDF_DAMAGED: its end is" in row for row in rows), rows
    assert max(len(row.rstrip()) for row in rows) <= 80
    (problem, *_) = json.loads(run(running, tmp_path, "problems", "list", "--json").stdout)
    assert problem["recommendation"].startswith("Send a mended file")


def test_wrong_use_is_refused_before_anything_is_sent(running: QuireUp, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(text_pdf("a"))
    assert convert(running, tmp_path, "a.pdf").returncode == 2
    missing = convert(running, tmp_path, "missing.pdf", "-m", "alto")
    assert missing.returncode == 1
    assert missing.stderr == "error: LOCAL_FILE_UNUSABLE: missing.pdf: there is no such file or directory\n"
    refused = convert(running, tmp_path, "a.pdf", "-m", "docx")
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: MAPPING_NOT_ALLOWED: ")
    listed = convert(running, tmp_path, "--list", "--json")
    assert "alto" in [item["name"] for item in json.loads(listed.stdout)]

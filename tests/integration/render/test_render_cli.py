"""`quire render` and `quire verify` against a real press."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tests.support.press import Press, document, rejected_document, rendered, sample
from tests.support.press import press as press
from tests.support.quire_command import QuireCommand


@pytest.fixture
def quire(press: Press, tmp_path: Path) -> QuireCommand:
    token = press.caller("cli").headers["Authorization"].partition(" ")[2]
    return QuireCommand(press.url, token, tmp_path)


async def test_data_becomes_a_checked_pdf_and_the_pdf_is_known_again(
    quire: QuireCommand, tmp_path: Path
) -> None:
    (tmp_path / "data.json").write_text(json.dumps(sample()))
    said = await quire("render", "invoice", "data.json", "-o", "out.pdf", "--option", "paper=A5", "--json")
    assert said.code == 0, said.err
    digest = hashlib.sha256((tmp_path / "out.pdf").read_bytes()).hexdigest()
    assert (said.json["status"], said.json["sha256"], said.json["file"]) == ("succeeded", digest, "out.pdf")
    known = await quire("verify", "out.pdf")
    assert (known.code, said.json["job_id"] in known.out) == (0, True)
    (tmp_path / "out.pdf").write_bytes(b"%PDF-1.4 altered")
    altered = await quire("verify", "out.pdf", "--job", said.json["job_id"], "--json")
    assert (altered.code, altered.json["genuine"]) == (1, False)
    assert (await quire("verify", "out.pdf")).out.startswith("not genuine: no document ")
    assert (await quire("verify", "data.json")).out == "not genuine: data.json is no PDF\n"
    again = await quire("render", "invoice", "data.json", "-o", "out.pdf", "--option", "paper=A5")
    assert (again.code, "existing, rendered " in again.err) == (0, True)


async def test_sample_is_printed_without_data_under_a_name_of_its_content(
    quire: QuireCommand, tmp_path: Path
) -> None:
    said = await quire("render", "receipt", "--sample")
    assert said.code == 0, said.err
    (file,) = tmp_path.glob("receipt-*.pdf")
    assert hashlib.sha256(file.read_bytes()).hexdigest().startswith(file.stem.removeprefix("receipt-"))
    assert "1 page" in said.err


async def test_templates_samples_and_pages_can_be_looked_at(quire: QuireCommand) -> None:
    assert "statement" in (await quire("render", "--list")).out
    assert (await quire("render", "invoice", "--show-sample")).json == sample()
    assert (await quire("render", "invoice", "--sample", "--html")).out.startswith("<!doctype html>")


async def test_what_cannot_be_printed_says_why_and_leaves_no_file(
    quire: QuireCommand, tmp_path: Path
) -> None:
    (tmp_path / "data.json").write_text(json.dumps(rejected_document("x")["payload"]))
    failed = await quire("render", "invoice", "data.json", "-o", "out.pdf")
    assert (failed.code, "TEMPLATE_ERROR" in failed.err) == (4, True)
    (tmp_path / "data.json").write_text("{}")
    refused = await quire("render", "invoice", "data.json", "-o", "out.pdf")
    assert (refused.code, refused.err.startswith("error: TEMPLATE_ERROR: ")) == (1, True)
    assert (await quire("render", "invoice")).code == 2
    assert not (tmp_path / "out.pdf").exists()


@pytest.fixture
def foreign_job(press: Press, tmp_path: Path) -> str:
    """Of another tenant; its bytes are in `theirs.pdf`."""
    zoe = press.caller("zoe", tenant="other")
    job = rendered(zoe, document("foreign"))
    (tmp_path / "theirs.pdf").write_bytes(zoe.get(job["download_url"]).content)
    return str(job["job_id"])


async def test_foreign_document_is_not_confirmed(quire: QuireCommand, foreign_job: str) -> None:
    assert (await quire("verify", "theirs.pdf")).code == 1
    named = await quire("verify", "theirs.pdf", "--job", foreign_job)
    assert named.err.startswith("error: JOB_NOT_FOUND")

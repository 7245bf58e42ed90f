"""The gateway over HTTP, with its jail: what it answers, what it refuses, and that nothing a PDF does reaches further
than the process it is read in."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.support.gateway_server import (
    LIMITS,
    MEMORY_BYTES,
    GatewayServer,
    running_gateway,
    status,
    wait_until,
)
from tests.support.hostile.bombs import endless_text
from tests.unit.convert.samples import mapped, sample
from tests.unit.convert.small_invoice import an_invoice, with_attachments
from tests.unit.reading.filled_form import form_with

from quire.convert.domain.voucher import Voucher, voucher_in
from quire.convert.infrastructure.mappings import MAPPINGS
from quire.convert.infrastructure.mappings.sample_pdf import sample_pdf
from quire.runtime.account import PASSING_IDS

# A child may map a little before it takes its limits.
MAPPED_BY_CHANCE_BYTES = 4 * 1024 * 1024


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    with running_gateway(tmp_path_factory.mktemp("gateway"), **LIMITS) as server:
        yield server


@pytest.mark.parametrize(
    ("mapping", "name"),
    [
        ("alto", "own-law-ru"),
        ("tei", "own-law-ru"),
        ("akn", "own-law-ru"),
        ("facturx", "invoice-factur-x"),
        ("ubl-invoice", "invoice-factur-x"),
    ],
)
def test_a_pdf_comes_back_as_xml(gateway: GatewayServer, mapping: str, name: str) -> None:
    answer = gateway.process_pdf(sample(name), mapping, Accept="application/xml")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/xml"
    assert answer.content == mapped(mapping, sample(name))


@pytest.mark.parametrize("mapping", ["alto", "tei", "akn", "ubl-invoice"])
def test_the_gateway_vouches_for_the_xml_that_it_wrote(gateway: GatewayServer, mapping: str) -> None:
    answer = gateway.process_pdf(sample("invoice-factur-x"), mapping)
    assert voucher_in(answer.headers) == Voucher(
        hashlib.sha256(answer.content).digest(), MAPPINGS[mapping].about.schema
    )


def test_the_gateway_does_not_vouch_for_an_invoice_in_which_others_declare_things(
    gateway: GatewayServer,
) -> None:
    invoice = an_invoice().replace(b"<rsm:ExchangedDocument>", b"<!-- of others --><rsm:ExchangedDocument>")
    answer = gateway.process_pdf(with_attachments(("factur-x.xml", invoice)), "facturx")
    assert answer.content == invoice
    assert voucher_in(answer.headers) is None


def test_a_filled_form_is_read_in_the_jail_too(gateway: GatewayServer) -> None:
    answer = gateway.process_pdf(form_with(b"Jane"))
    assert re.findall(r'<String CONTENT="([^"]*)"', answer.text) == ["Name:", "Jane"]


def test_a_large_pdf_read_in_shares_is_the_same_as_read_in_one(gateway: GatewayServer) -> None:
    answer = gateway.process_pdf(sample("debian-faq-ru"))
    assert answer.status_code == 200
    assert answer.content == mapped("alto", sample("debian-faq-ru"))


def test_the_mappings_are_listed_with_their_versions_and_schemas(gateway: GatewayServer) -> None:
    listed = {item["name"]: item for item in gateway.http.get("/mappings").json()["mappings"]}
    assert set(listed) == {"alto", "tei", "akn", "facturx", "ubl-invoice"}
    assert listed["alto"]["version"] == "5"
    assert listed["alto"]["schema_name"] == "ALTO 4.3"


@pytest.mark.parametrize(
    ("status", "code", "data", "files", "headers"),
    [
        (400, "UNKNOWN_MAPPING", {"mapping": "word"}, {"file": sample_pdf()}, {}),
        (400, "MALFORMED_REQUEST", {}, {"file": sample_pdf()}, {}),
        (400, "MALFORMED_REQUEST", {"mapping": "alto"}, {"other": sample_pdf()}, {}),
        (400, "MALFORMED_REQUEST", {"mapping": "alto"}, {"file": b""}, {}),
        (400, "MALFORMED_REQUEST", {"mapping": "x" * 10_000}, {"file": sample_pdf()}, {}),
        (406, "NOT_ACCEPTABLE", {"mapping": "alto"}, {"file": sample_pdf()}, {"Accept": "text/html"}),
        (
            406,
            "NOT_ACCEPTABLE",
            {"mapping": "alto"},
            {"file": sample_pdf()},
            {"Accept": "application/xml;q=0"},
        ),
        (413, "PAYLOAD_TOO_LARGE", {"mapping": "alto"}, {"file": b"%PDF-1.7" + b" " * 9_000_000}, {}),
        (415, "NOT_A_PDF", {"mapping": "alto"}, {"file": b"GIF89a"}, {}),
        (422, "NO_EMBEDDED_INVOICE", {"mapping": "facturx"}, {"file": sample_pdf()}, {}),
        (422, "NO_EMBEDDED_INVOICE", {"mapping": "ubl-invoice"}, {"file": sample_pdf()}, {}),
    ],
)
def test_a_request_it_cannot_serve_gets_a_typed_problem(
    gateway: GatewayServer,
    status: int,
    code: str,
    data: dict[str, str],
    files: dict[str, bytes],
    headers: dict[str, str],
) -> None:
    answer = gateway.http.post("/process", data=data, files=files, headers=headers)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_that_is_no_form_is_refused(gateway: GatewayServer) -> None:
    answer = gateway.http.post("/process", content=sample_pdf(), headers={"Content-Type": "application/pdf"})
    assert (answer.status_code, answer.json()["error_code"]) == (415, "NOT_MULTIPART")
    torn = {"Content-Type": "multipart/form-data; boundary=x"}
    assert gateway.http.post("/process", content=b"--x\r\nnonsense", headers=torn).status_code == 400


def test_a_document_is_read_without_network_rights_or_system_calls(gateway: GatewayServer) -> None:
    (server,) = gateway.children()
    pdf = endless_text()
    reading = threading.Thread(target=gateway.process_pdf, args=(pdf, "tei"))
    reading.start()
    try:
        wait_until(lambda: _seccomp(gateway.children(server)))
        (child,) = gateway.children(server)
        seen = status(child)
        assert seen["NoNewPrivs"] == "1"
        assert seen["CapEff"].strip("0") == ""
        if os.geteuid() == 0:
            (uid,) = set(seen["Uid"].split())
            assert int(uid) in PASSING_IDS
        assert Path(f"/proc/{child}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        limits = Path(f"/proc/{child}/limits").read_text()
        assert "Max file size             0 " in limits
        assert "Max cpu time              3 " in limits
        # What the server has mapped, the document, and what reading may add.
        mapped = 1024 * int(status(server)["VmSize"].split()[0])
        allowed = int(limits.partition("Max address space")[2].split()[0])
        assert MEMORY_BYTES < allowed < mapped + len(pdf) + MEMORY_BYTES + MAPPED_BY_CHANCE_BYTES
    finally:
        reading.join()


def test_when_the_reader_is_killed_another_takes_its_place(gateway: GatewayServer) -> None:
    (server,) = gateway.children()
    os.kill(server, signal.SIGKILL)
    wait_until(lambda: server not in gateway.children())
    assert gateway.http.get("/ready").status_code == 200
    assert gateway.process_pdf(sample_pdf()).status_code == 200
    assert gateway.children() != [server]


def test_a_document_is_not_blamed_for_a_reader_that_was_killed(gateway: GatewayServer) -> None:
    answers: list[httpx.Response] = []
    asking = threading.Thread(target=lambda: answers.append(gateway.process_pdf(endless_text(), "tei")))
    asking.start()
    (server,) = gateway.children()
    wait_until(lambda: gateway.children(server))
    for reader in gateway.children(server):
        os.kill(reader, signal.SIGKILL)
    asking.join()
    (answer,) = answers
    assert (answer.status_code, answer.json()["error_code"]) == (503, "READER_UNAVAILABLE")
    assert answer.json()["retryable"] is True


def test_what_it_did_is_counted(gateway: GatewayServer) -> None:
    gateway.process_pdf(sample_pdf())
    text = gateway.http.get("/metrics").text
    assert 'quire_gateway_conversions_total{mapping="alto",outcome="ok"}' in text
    assert gateway.http.get("/health").json() == {"status": "live"}


def test_without_a_token_nobody_is_asked_for_one(gateway: GatewayServer) -> None:
    for path, code in (("/", 404), ("/docs", 404), ("/process", 405), ("/metrics", 200)):
        assert gateway.http.get(path).status_code == code
        assert gateway.http.get(path, headers={"Authorization": "Bearer any"}).status_code == code


def test_with_a_token_strangers_are_refused_and_health_is_open(tmp_path: Path) -> None:
    with running_gateway(tmp_path, QUIRE_GATEWAY_TOKEN="a-long-secret") as server:
        assert server.process_pdf(sample_pdf()).status_code == 401
        assert server.process_pdf(sample_pdf(), Authorization="Bearer another").status_code == 401
        assert server.process_pdf(sample_pdf(), Authorization="Bearer a-long-secret").status_code == 200
        assert server.http.get("/health").status_code == 200
        assert server.http.get("/metrics").status_code == 401
        assert server.http.get("/nothing").status_code == 401
    # The reader goes with the gateway.
    assert server.process.returncode == 0


def _seccomp(pids: list[int]) -> bool:
    return any(status(pid).get("Seccomp") == "2" for pid in pids)

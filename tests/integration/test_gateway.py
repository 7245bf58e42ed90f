"""The gateway over HTTP, with its jail: what it answers, what it refuses, and that nothing a PDF does reaches further
than the process it is read in."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from tests.integration.gateway_server import GatewayServer, running_gateway, wait_until
from tests.integration.hostile_pdfs import HARMLESS, REFUSED, endless_text
from tests.unit.convert.samples import mapped, sample

from quire.convert.infrastructure.mappings.sample_pdf import sample_pdf

MEMORY_BYTES = 256 * 1024 * 1024
# Far less than a child may take: nothing of a document passes through the gateway's own memory.
GATEWAY_BYTES = 400 * 1024 * 1024
LIMITS = {
    "QUIRE_GATEWAY_MEMORY_BYTES": str(MEMORY_BYTES),
    "QUIRE_GATEWAY_CPU_SEC": "3",
    "QUIRE_GATEWAY_WALL_SEC": "45",
    "QUIRE_GATEWAY_MAX_BYTES": "8388608",
}


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


def test_a_large_pdf_read_in_shares_is_the_same_as_read_in_one(gateway: GatewayServer) -> None:
    answer = gateway.process_pdf(sample("debian-faq-ru"))
    assert answer.status_code == 200
    assert answer.content == mapped("alto", sample("debian-faq-ru"))


def test_the_mappings_are_listed_with_their_versions_and_schemas(gateway: GatewayServer) -> None:
    listed = {item["name"]: item for item in gateway.http.get("/mappings").json()["mappings"]}
    assert set(listed) == {"alto", "tei", "akn", "facturx", "ubl-invoice"}
    assert listed["alto"]["version"] == "2"
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


@pytest.mark.parametrize("make", REFUSED, ids=lambda make: make.__name__)
def test_a_hostile_pdf_is_refused_within_the_limits(
    gateway: GatewayServer, make: Callable[[], bytes]
) -> None:
    answer = gateway.process_pdf(make())
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["retryable"] is False
    _assert_unharmed(gateway)


@pytest.mark.parametrize("make", HARMLESS, ids=lambda make: make.__name__)
def test_an_odd_pdf_gives_nothing_away_and_harms_nothing(
    gateway: GatewayServer, make: Callable[[], bytes]
) -> None:
    for mapping in ("alto", "tei"):
        answer = gateway.process_pdf(make(), mapping)
        assert answer.status_code == 200 or 400 <= answer.status_code < 500, answer.text
        assert b"root:" not in answer.content
    _assert_unharmed(gateway)


def _assert_unharmed(gateway: GatewayServer) -> None:
    """One process under the gateway, none under that, little memory, and the next document is read."""
    (server,) = gateway.children()
    wait_until(lambda: not gateway.children(server))
    assert gateway.memory_bytes() < GATEWAY_BYTES
    assert gateway.http.get("/ready").status_code == 200
    assert gateway.process_pdf(sample_pdf()).status_code == 200


def test_a_document_is_read_without_network_rights_or_system_calls(gateway: GatewayServer) -> None:
    (server,) = gateway.children()
    reading = threading.Thread(target=gateway.process_pdf, args=(endless_text(), "tei"))
    reading.start()
    try:
        wait_until(lambda: _seccomp(gateway.children(server)))
        (child,) = gateway.children(server)
        status = _status(child)
        assert status["NoNewPrivs"] == "1"
        assert status["CapEff"].strip("0") == ""
        if os.geteuid() == 0:
            assert status["Uid"].split() == ["65534"] * 4
        assert Path(f"/proc/{child}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        limits = Path(f"/proc/{child}/limits").read_text()
        assert "Max file size             0 " in limits
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


def test_with_a_token_strangers_are_refused_and_health_is_open(tmp_path: Path) -> None:
    with running_gateway(tmp_path, QUIRE_GATEWAY_TOKEN="a-long-secret") as server:
        assert server.process_pdf(sample_pdf()).status_code == 401
        assert server.process_pdf(sample_pdf(), Authorization="Bearer another").status_code == 401
        assert server.process_pdf(sample_pdf(), Authorization="Bearer a-long-secret").status_code == 200
        assert server.http.get("/health").status_code == 200
    # The reader goes with the gateway.
    assert server.process.returncode == 0


def _status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _seccomp(pids: list[int]) -> bool:
    try:
        return any(_status(pid)["Seccomp"] == "2" for pid in pids)
    except (FileNotFoundError, ProcessLookupError):
        return False

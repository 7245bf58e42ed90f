"""A real gateway with mappings that are wrong, crash or never end: each is answered by its name, tells nothing of the
document, and keeps nobody else from being served."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.support.gateway_server import GatewayServer, running_gateway, wait_until
from tests.support.odd_gateway import CONTENT, MODULE, REFUSED_SHARE
from tests.unit.convert.samples import sample
from tests.unit.convert.wrong_mappings import WRONG

from quire.convert.infrastructure.mappings.sample_pdf import sample_pdf
from quire.reading.infrastructure.jail.jail import PATIENCE_SECONDS

WAITING = 16
WALL_SECONDS = 2
SETTINGS = {"QUIRE_GATEWAY_SLOTS": "1", "QUIRE_GATEWAY_WALL_SEC": str(WALL_SECONDS)}
# Two slots, so that a document is read in two shares; its readers would stay for minutes.
SHARING = {"QUIRE_GATEWAY_SLOTS": "2", "QUIRE_GATEWAY_WALL_SEC": "300"}
REFUSED_DOCUMENTS = 30


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    with running_gateway(tmp_path_factory.mktemp("odd"), program=MODULE, **SETTINGS) as server:
        yield server


@pytest.fixture(scope="module")
def sharing_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    with running_gateway(tmp_path_factory.mktemp("sharing"), program=MODULE, **SHARING) as server:
        yield server


@pytest.mark.parametrize("mapping", WRONG)
def test_xml_that_its_schema_refuses_does_not_leave_the_gateway(gateway: GatewayServer, mapping: str) -> None:
    answer = gateway.process_pdf(sample("invoice-zugferd-small"), mapping)
    assert said(answer) == (422, "RESULT_NOT_VALID", False)
    assert b"<" not in answer.content
    assert b"Rechnung" not in answer.content
    assert gateway.process_pdf(sample_pdf()).status_code == 200


@pytest.mark.parametrize("mapping", ["touch_nothing", "fail"])
def test_a_document_that_its_reader_dies_of_is_refused_and_the_gateway_lives(
    gateway: GatewayServer, mapping: str
) -> None:
    servers = gateway.children()
    answer = gateway.process_pdf(sample_pdf(), mapping)
    assert said(answer) == (422, "READER_CRASHED", False)
    assert CONTENT not in answer.content
    assert gateway.process_pdf(sample_pdf()).status_code == 200
    assert gateway.children() == servers


def test_when_as_many_wait_as_may_the_next_is_told_to_come_back_and_those_are_served(
    gateway: GatewayServer,
) -> None:
    with ThreadPoolExecutor(1 + WAITING) as callers:
        asleep = callers.submit(gateway.process_pdf, sample_pdf(), "sleep")
        reader = stopped_reader(gateway)
        try:
            waiting = [callers.submit(gateway.process_pdf, sample_pdf()) for _ in range(WAITING)]
            wait_until(lambda: waiting_now(gateway) == WAITING)
            refused = gateway.process_pdf(sample_pdf())
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(reader, signal.SIGCONT)
    assert said(refused) == (429, "GATEWAY_BUSY", True)
    assert refused.headers["retry-after"] == "1"
    assert said(asleep.result()) == (413, "READING_TOO_COSTLY", False)
    assert "more time" in asleep.result().json()["detail"]
    assert asleep.result().elapsed.total_seconds() < WALL_SECONDS + PATIENCE_SECONDS
    assert {answer.result().status_code for answer in waiting} == {200}
    assert waiting_now(gateway) == 0
    assert gateway.process_pdf(sample_pdf()).status_code == 200


def test_readers_of_other_shares_are_gone_before_a_refused_document_frees_its_slot(
    sharing_gateway: GatewayServer,
) -> None:
    (server,) = sharing_gateway.children()
    shared = sample("paperwork-de")
    for _ in range(REFUSED_DOCUMENTS):
        answer = sharing_gateway.process_pdf(shared, REFUSED_SHARE)
        assert said(answer) == (422, "PDF_DAMAGED", False)
    assert sharing_gateway.children(server) == []
    assert sharing_gateway.children() == [server], "nobody else's reader was ended with them"


def test_readers_of_a_caller_that_hung_up_are_ended_and_its_slot_is_free(
    sharing_gateway: GatewayServer,
) -> None:
    (server,) = sharing_gateway.children()
    for _ in range(3):
        with pytest.raises(httpx.ReadTimeout), httpx.Client(timeout=1, trust_env=False) as hasty:
            send(hasty, sharing_gateway.url, "sleep")
    wait_until(lambda: sharing_gateway.children(server) == [], within_seconds=20)
    with ThreadPoolExecutor(2) as callers:
        answers = callers.map(lambda _: sharing_gateway.process_pdf(sample_pdf()), range(4))
        assert {answer.status_code for answer in answers} == {200}
    assert sharing_gateway.children() == [server]


def send(client: httpx.Client, url: str, mapping: str) -> httpx.Response:
    file = {"file": ("a.pdf", sample_pdf(), "application/pdf")}
    return client.post(f"{url}/process", data={"mapping": mapping}, files=file)


def said(answer: httpx.Response) -> tuple[int, str, bool]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["error_code"], answer.json()["retryable"]


def stopped_reader(gateway: GatewayServer) -> int:
    """Its time runs on, but nothing ends it before it goes on."""
    (server,) = gateway.children()
    wait_until(lambda: gateway.children(server))
    (reader,) = gateway.children(server)
    os.kill(reader, signal.SIGSTOP)
    return reader


def waiting_now(gateway: GatewayServer) -> float:
    lines = gateway.http.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith("quire_gateway_waiting ")).split()[1])

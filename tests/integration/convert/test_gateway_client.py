"""What the worker's side understands of a gateway's answer, over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.support.gateway_process import GatewayProcess, gateway_process, pdf_that

from quire.convert.domain.gateway_errors import LONGEST_PAUSE_SECONDS, GatewayFailedError
from quire.convert.infrastructure.http.gateway_client import HttpGatewayClient
from quire.convert.ports.v1.gateway_client import PdfSource

# Of the gateway's own clock, which is far behind ours.
DATE = "Sat, 01 Jan 2000 00:00:00 GMT"
PAUSES = {
    "120": 120,
    "Sat, 01 Jan 2000 00:01:30 GMT": 90,
    "Saturday, 01-Jan-00 00:01:30 GMT": 90,
    "Fri, 31 Dec 1999 23:59:00 GMT": 0,
    "Sun, 02 Jan 2000 00:00:00 GMT": LONGEST_PAUSE_SECONDS,
    "9" * 500: LONGEST_PAUSE_SECONDS,
    "0": 0,
    "-5": 0,
    "1.5": 0,
    "soon": 0,
    "": 0,
    "Sat, 99 Foo 2000 00:01:30 GMT": 0,
    # Numbers that no date can hold.
    "Sat, 01 Jan 99999999999999999999 00:00:00 GMT": 0,
    "Sat, 01 Jan 2000 00:01:30 +99999999999999999999": 0,
}


@pytest.fixture(scope="module")
def gateway() -> Iterator[GatewayProcess]:
    with gateway_process() as gateway:
        yield gateway


@pytest.fixture
async def client(gateway: GatewayProcess) -> AsyncIterator[HttpGatewayClient]:
    client = HttpGatewayClient(gateway.url, timeout_seconds=20, connections_max=1)
    yield client
    await client.close()


async def pause_asked(client: HttpGatewayClient, retry_after: str) -> float:
    headers = {"Date": DATE, "Retry-After": retry_after}
    pdf = pdf_that(1, answer="status", status=503, headers=headers)

    async def chunks() -> AsyncIterator[bytes]:
        yield pdf

    with pytest.raises(GatewayFailedError) as failure:
        async with client.process("alto", PdfSource(len(pdf), chunks)):
            raise AssertionError("it was answered")
    return failure.value.retry_after_seconds


async def test_a_pause_is_asked_for_in_seconds_or_by_a_date_of_the_gateways_own_clock(
    client: HttpGatewayClient,
) -> None:
    assert {said: await pause_asked(client, said) for said in PAUSES} == PAUSES

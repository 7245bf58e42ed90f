"""An answer is received ahead of whoever keeps it, within bounds, and its end is the end of its check."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from quire.convert.application.answer_receiver import AHEAD_MAX_CHUNKS, AnswerReceiver
from quire.convert.domain.gateway_errors import BadGatewayAnswerError, GatewayTimeoutError

DEADLINE_SECONDS = 60.0
MAX_BYTES = 1_000_000


class Gateway:
    """An answer whose chunks are counted as they are taken, and that knows when it was closed."""

    def __init__(self, *chunks: bytes, failure: Exception | None = None) -> None:
        self._chunks = chunks
        self._failure = failure
        self.taken = 0
        self.closed = asyncio.Event()

    async def answer(self) -> AsyncGenerator[bytes, None]:
        try:
            for chunk in self._chunks:
                self.taken += 1
                yield chunk
                await asyncio.sleep(0)
            if self._failure is not None:
                raise self._failure
        finally:
            self.closed.set()


async def received(gateway: Gateway) -> list[bytes]:
    async with asyncio.timeout(DEADLINE_SECONDS):
        return [chunk async for chunk in AnswerReceiver(gateway.answer(), MAX_BYTES).chunks()]


async def test_every_byte_comes_through_in_order() -> None:
    chunks = [b"<a>", *(b"<b>%d</b>" % number for number in range(100)), b"</a>"]
    assert await received(Gateway(*chunks)) == chunks


@pytest.mark.parametrize(
    ("gateway", "error"),
    [
        (Gateway(b"<a>", b"</b>"), BadGatewayAnswerError),
        (Gateway(b"<a>", *[b"x"] * 100), BadGatewayAnswerError),
        (Gateway(), BadGatewayAnswerError),
        (Gateway(b"<a>", failure=GatewayTimeoutError("late")), GatewayTimeoutError),
        (Gateway(b"<a>", *[b"x"] * 100, failure=GatewayTimeoutError("late")), GatewayTimeoutError),
    ],
)
async def test_an_answer_that_fails_has_no_end(gateway: Gateway, error: type[Exception]) -> None:
    with pytest.raises(error):
        await received(gateway)
    assert gateway.closed.is_set()


async def test_the_gateway_is_not_called_before_somebody_keeps_the_answer() -> None:
    gateway = Gateway(b"<a/>")
    chunks = AnswerReceiver(gateway.answer(), MAX_BYTES).chunks()
    await asyncio.sleep(0)
    assert gateway.taken == 0
    assert [chunk async for chunk in chunks] == [b"<a/>"]


async def test_no_more_is_received_than_may_wait_and_closing_ends_the_call() -> None:
    gateway = Gateway(b"<a>", *[b"x"] * 1000)
    async with aclosing(AnswerReceiver(gateway.answer(), MAX_BYTES).chunks()) as chunks:
        await anext(chunks)
        for _ in range(1000):
            await asyncio.sleep(0)
        # One was handed out, and one waits for a place.
        assert gateway.taken == AHEAD_MAX_CHUNKS + 2
    assert gateway.closed.is_set()

"""Receives an answer and has it checked as it comes, ahead of whoever keeps it: a disk that writes holds up neither."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing

from quire.convert.application.answer_check import AnswerCheck

# What may wait in memory for the disk, in chunks of the gateway's client.
AHEAD_MAX_CHUNKS = 16
END = b""


class AnswerReceiver:
    """`chunks` gives every byte, and its end only when all of them are checked."""

    def __init__(self, answer: AsyncGenerator[bytes, None], max_bytes: int) -> None:
        self._answer = answer
        self._max_bytes = max_bytes
        self._received: asyncio.Queue[bytes] = asyncio.Queue(AHEAD_MAX_CHUNKS)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Calls the gateway when the first chunk is asked for; closing it ends the call."""
        receiving = asyncio.create_task(self._receive())
        try:
            while chunk := await self._received.get():
                yield chunk
            await receiving
        finally:
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)

    async def _receive(self) -> None:
        try:
            await self._receive_all()
        except Exception:
            # A failure waits its turn behind what was received; a cancelled task has nobody to tell.
            await self._received.put(END)
            raise
        await self._received.put(END)

    async def _receive_all(self) -> None:
        async with aclosing(self._answer) as answer:
            with closing(AnswerCheck(self._max_bytes)) as check:
                async for chunk in answer:
                    await check.feed(chunk)
                    await self._received.put(chunk)
                await check.finish()

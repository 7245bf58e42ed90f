"""The gateway as the worker sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from quire.convert.domain.voucher import Voucher


@dataclass(frozen=True, slots=True)
class PdfSource:
    """Bytes of a known length, read as they are sent."""

    size_bytes: int
    chunks: Callable[[], AsyncIterator[bytes]]


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    """Of status 200. `chunks` come by and by; `voucher` is what the gateway says of them, to be believed or not."""

    chunks: AsyncIterator[bytes]
    voucher: Voucher | None


class GatewayClient(Protocol):
    def process(self, mapping: str, pdf: PdfSource) -> AbstractAsyncContextManager[GatewayAnswer]:
        """The answer while it comes in; no call holds a whole file in memory. Entering it and reading its chunks SHALL
        raise a GatewayError for whatever the gateway or the way to it does, within the time of one call; errors of
        `pdf` come out as they are. Leaving it SHALL end the call."""
        ...

    async def answers(self) -> bool:
        """Whether anything healthy is there, found out in a few seconds."""
        ...

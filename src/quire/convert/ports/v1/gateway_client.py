"""The gateway as the worker sees it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PdfSource:
    """Bytes of a known length, read as they are sent."""

    size_bytes: int
    chunks: Callable[[], AsyncIterator[bytes]]


class GatewayClient(Protocol):
    def process(self, mapping: str, pdf: PdfSource) -> AsyncGenerator[bytes, None]:
        """The answer's bytes as they come; no call holds a whole file in memory. SHALL raise a GatewayError for
        whatever the gateway or the way to it does, within the time of one call; errors of `pdf` come out as they
        are."""
        ...

    async def answers(self) -> bool:
        """Whether anything healthy is there, found out in a few seconds."""
        ...

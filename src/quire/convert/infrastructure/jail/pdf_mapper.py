"""Maps PDFs in reading's jail. This process never parses one: it knows the mappings by name and the errors by code."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import IO, Any

from quire.convert.domain.xml_mapping import (
    CreditNoteError,
    EmbeddedInvoiceError,
    InvoiceWithoutLinesError,
    NoInvoiceError,
    ResultInvalidError,
    XmlMapping,
)
from quire.kernel import QuireError
from quire.reading import (
    ChildRefusalError,
    Jail,
    NotPdfError,
    PdfDamagedError,
    PdfEmptyError,
    PdfEncryptedError,
    PdfTooManyPagesError,
    ReaderCrashedError,
    ReadingLimits,
    ReadingTooCostlyError,
)
from quire.runtime.errand import finish_errand

TASK = "quire.convert.infrastructure.mappings.child"
# What a child may say; anything else it could only have been made to say.
REFUSALS: dict[str, type[QuireError]] = {
    error.code: error
    for error in (
        CreditNoteError,
        EmbeddedInvoiceError,
        InvoiceWithoutLinesError,
        NoInvoiceError,
        NotPdfError,
        PdfDamagedError,
        PdfEmptyError,
        PdfEncryptedError,
        PdfTooManyPagesError,
        ReadingTooCostlyError,
        ResultInvalidError,
    )
}


SHARED_FROM_BYTES = 65_536

Join = Callable[[list[IO[bytes]]], IO[bytes]]
NO_JOINS: Mapping[str, Join] = {}


class JailedPdfMapper:
    """Implements `PdfMapper`."""

    def __init__(
        self,
        mappings: tuple[XmlMapping, ...],
        limits: ReadingLimits,
        *,
        joins: Mapping[str, Join] = NO_JOINS,
        processes: int = 1,
    ) -> None:
        """`joins`: how the shares of a document become one, for the mappings that can be shared out."""
        self._mappings = mappings
        self._joins = joins
        self._processes = processes
        self._running = 0
        self._limits = limits
        self._jail = Jail(TASK)

    @property
    def jail(self) -> Jail:
        return self._jail

    def mappings(self) -> tuple[XmlMapping, ...]:
        return self._mappings

    async def map(self, pdf: IO[bytes], mapping: str) -> IO[bytes]:
        self._running += 1
        try:
            shares = self._shares(pdf, mapping)
            parts = await gathered([self._part(pdf, mapping, share, shares) for share in range(shares)])
        finally:
            self._running -= 1
        join = self._joins.get(mapping)
        if shares == 1 or join is None:
            return parts[0]
        try:
            return await asyncio.to_thread(join, parts)
        finally:
            for part in parts:
                part.close()

    def _shares(self, pdf: IO[bytes], mapping: str) -> int:
        """Processors that nobody needs read a share of the pages each. Small files are not worth a second process."""
        if mapping not in self._joins or os.fstat(pdf.fileno()).st_size < SHARED_FROM_BYTES:
            return 1
        return max(1, self._processes // self._running)

    async def _part(self, pdf: IO[bytes], mapping: str, share: int, shares: int) -> IO[bytes]:
        arguments = {"mapping": mapping, "pages_max": self._limits.pages, "share": share, "shares": shares}
        limits = replace(self._limits, memory_bytes=self._limits.memory_bytes // shares)
        try:
            return await self._jail.run(pdf.fileno(), arguments, limits)
        except ChildRefusalError as refusal:
            known = REFUSALS.get(refusal.code, ReaderCrashedError)
            raise known(refusal.detail if known is not ReaderCrashedError else "") from None

    async def check(self) -> None:
        await self._jail.start()

    async def close(self) -> None:
        await self._jail.close()


async def gathered(parts: list[Coroutine[Any, Any, IO[bytes]]]) -> list[IO[bytes]]:
    """All of them or none: what one refuses, the others need not finish. Nobody returns before all of them ended."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        await finish_errand(_end_all(tasks))
        raise


async def _end_all(tasks: list[asyncio.Task[IO[bytes]]]) -> None:
    for task in tasks:
        task.cancel()
    for done in await asyncio.gather(*tasks, return_exceptions=True):
        if not isinstance(done, BaseException):
            done.close()

"""`POST /process`, without HTTP: a known mapping, a turn, then the mapper; counted and timed whatever comes of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO

from quire.convert.application.gateway_metrics import SECONDS, WAITING, count
from quire.convert.application.vouch_for_answer import vouch_for_answer
from quire.convert.domain.voucher import Voucher
from quire.convert.domain.xml_mapping import GatewayBusyError, UnknownMappingError, XmlMapping
from quire.convert.ports.v1.pdf_mapper import PdfMapper
from quire.kernel import QuireError


class GatewayDesk:
    """`slots` conversions at once, as many again waiting as `waiting_max`; whoever comes after is told to come back."""

    def __init__(self, mapper: PdfMapper, slots: int, waiting_max: int) -> None:
        self.mapper = mapper
        self._slots = asyncio.Semaphore(slots)
        self._waiting_max = waiting_max
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        if self._waiting >= self._waiting_max:
            raise GatewayBusyError(
                f"{self._waiting} documents wait already", extra={"retry_after_seconds": 1}
            )
        self._waiting += 1
        WAITING.set(self._waiting)
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
            WAITING.set(self._waiting)
        try:
            yield
        finally:
            self._slots.release()

    def mapping_of(self, name: str) -> XmlMapping:
        known = {about.name: about for about in self.mapper.mappings()}
        if name not in known:
            raise UnknownMappingError(f"`mapping` is one of {', '.join(known)}")
        return known[name]


@dataclass(frozen=True, slots=True)
class ProcessedPdf:
    """`xml` is the receiver's to close."""

    xml: IO[bytes]
    voucher: Voucher | None


async def process_pdf(desk: GatewayDesk, mapping: str, pdf: IO[bytes]) -> ProcessedPdf:
    about = desk.mapping_of(mapping)
    async with desk.turn():
        began = time.perf_counter()
        try:
            xml = await desk.mapper.map(pdf, mapping)
            voucher = await asyncio.to_thread(vouch_for_answer, xml, about.schema)
        except QuireError as error:
            count(mapping, error.code)
            raise
        except asyncio.CancelledError:
            count(mapping, "cancelled")
            raise
        finally:
            SECONDS.labels(mapping).observe(time.perf_counter() - began)
    count(mapping, "ok")
    return ProcessedPdf(xml, voucher)

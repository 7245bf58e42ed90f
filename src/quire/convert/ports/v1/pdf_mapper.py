"""Who turns a PDF into XML inside the gateway."""

from __future__ import annotations

from typing import IO, Protocol

from quire.convert.domain.xml_mapping import XmlMapping


class PdfMapper(Protocol):
    def mappings(self) -> tuple[XmlMapping, ...]:
        """SHALL list what `map` accepts."""
        ...

    async def map(self, pdf: IO[bytes], mapping: str) -> IO[bytes]:
        """SHALL answer with XML that is valid by the mapping's schema, in a file that is the caller's to close, or
        raise: a document's fault is never an UnavailableError. SHALL read each PDF in a process of its own, and leave
        nothing running."""
        ...

    async def close(self) -> None:
        """SHALL end whatever runs for it."""
        ...

    async def check(self) -> None:
        """SHALL raise an UnavailableError while nothing could be mapped."""
        ...

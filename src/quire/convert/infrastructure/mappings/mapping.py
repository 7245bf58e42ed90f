"""What every mapping is made of: a description, a function from the document to XML, a schema to hold it against."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import IO, Any

from quire.convert.domain.xml_mapping import XmlMapping
from quire.convert.infrastructure.mappings.schema import Schema
from quire.reading import Document, Page, TextStyle, new_style_book, open_pdf


class Source:
    """One PDF, read as far as a mapping asks."""

    def __init__(
        self, content: Any, size_bytes: int, pages_max: int, *, share: int = 0, shares: int = 1
    ) -> None:
        self._pdf = open_pdf(content, size_bytes, pages_max)
        self.share, self._shares = share, shares

    @cached_property
    def document(self) -> Document:
        return self._pdf.document(self.share, self._shares)

    def runs(self, length: int) -> Iterator[tuple[tuple[Page, ...], tuple[TextStyle, ...]]]:
        """The pages, so many at a time, each run with all styles met by then; what was given is not kept."""
        book = new_style_book()
        pages = self._pdf.pages(book, self.share, self._shares)
        while run := tuple(islice(pages, length)):
            yield run, book.styles()

    @cached_property
    def attachments(self) -> dict[str, Callable[[], bytes]]:
        """By name in small letters, each read when it is called for: others may be large, and are nobody's business.
        A PDF without pages is no document, whatever it carries."""
        assert self._pdf.page_count
        return {
            name.lower(): partial(self._pdf.attachment, number)
            for number, name in enumerate(self._pdf.attachment_names())
            if name
        }


@dataclass(frozen=True)
class Mapping:
    about: XmlMapping
    write: Callable[[Source], bytes]
    schema: Schema | None
    """None: it gives out only what it has held against a schema itself."""
    join: Callable[[list[IO[bytes]]], IO[bytes]] | None = None
    """Makes one answer of the answers for shares of the pages; without it a document is read in one go."""

    def checked(self, source: Source) -> bytes:
        xml = self.write(source)
        if self.schema is not None:
            self.schema.check(xml)
        return xml

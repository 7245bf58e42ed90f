"""Front door of reading: the page model, why a document cannot be read, and the jail it is read in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quire.reading.domain.errors import (
    JailUnavailableError,
    NotPdfError,
    PdfDamagedError,
    PdfEmptyError,
    PdfEncryptedError,
    PdfTooManyPagesError,
    ReaderCrashedError,
    ReadingTooCostlyError,
)
from quire.reading.domain.limits import ReadingLimits
from quire.reading.domain.page import Block, Box, Document, Line, Page, TextStyle, Word, as_seen, rejoined
from quire.reading.domain.text_flow import Kind, Passage, flow_of
from quire.reading.infrastructure.jail.answer import ChildRefusalError
from quire.reading.infrastructure.jail.jail import Jail

if TYPE_CHECKING:
    from quire.reading.infrastructure.pdfium.pdf import Pdf
    from quire.reading.infrastructure.pdfium.style_book import StyleBook

__all__ = [
    "Block",
    "Box",
    "ChildRefusalError",
    "Document",
    "Jail",
    "JailUnavailableError",
    "Kind",
    "Line",
    "NotPdfError",
    "Page",
    "Passage",
    "PdfDamagedError",
    "PdfEmptyError",
    "PdfEncryptedError",
    "PdfTooManyPagesError",
    "ReaderCrashedError",
    "ReadingLimits",
    "ReadingTooCostlyError",
    "TextStyle",
    "Word",
    "as_seen",
    "flow_of",
    "new_style_book",
    "open_pdf",
    "rejoined",
]


def open_pdf(content: Any, size_bytes: int, pages_max: int) -> Pdf:
    """For code inside the jail; whoever stands outside never loads the parser."""
    from quire.reading.infrastructure.pdfium.ends import size_without_padding
    from quire.reading.infrastructure.pdfium.pdf import Pdf
    from quire.reading.infrastructure.qpdf.wholeness_check import QpdfWholenessCheck

    size = size_without_padding(content, size_bytes)
    return Pdf(content, size, pages_max, QpdfWholenessCheck(content, size))


def new_style_book() -> StyleBook:
    from quire.reading.infrastructure.pdfium.style_book import StyleBook

    return StyleBook()

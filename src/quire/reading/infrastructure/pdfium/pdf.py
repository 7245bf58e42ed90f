"""One opened PDF: its pages as the page model, its attachments, its own words about itself. Not for two threads."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Any

import pypdfium2_raw as raw

from quire.reading.domain.errors import (
    PdfDamagedError,
    PdfEmptyError,
    PdfEncryptedError,
    PdfTooManyPagesError,
)
from quire.reading.domain.layout import blocks_of, whole_lines
from quire.reading.domain.page import Document, Page
from quire.reading.domain.reading_order import in_reading_order
from quire.reading.infrastructure.pdfium.library import start_library
from quire.reading.infrastructure.pdfium.rules import rules_of
from quire.reading.infrastructure.pdfium.text_page import StyleBook, TextPage
from quire.reading.infrastructure.pdfium.view import View

TEXT_MAX_BYTES = 2_000
ATTACHMENT_MAX_BYTES = 64 * 1024 * 1024
# What helps, said to whoever reads the refusal.
DECRYPT = "save it without one (`qpdf --decrypt --password=…`) and send that"
EXPORT_AGAIN = "export or download it again and send that"
PASSWORD_ERRORS = (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)


class Pdf:
    """`content` must live as long as this does: PDFium reads from it as it goes."""

    def __init__(self, content: Any, size_bytes: int, pages_max: int) -> None:
        start_library()
        self._content = content
        self._pages_max = pages_max
        self._handle = raw.FPDF_LoadMemDocument64(_address(content), size_bytes, None)
        if not self._handle:
            raise _refusal(raw.FPDF_GetLastError())

    @property
    def page_count(self) -> int:
        count: int = raw.FPDF_GetPageCount(self._handle)
        if count < 1:
            raise PdfEmptyError("there is no page to read")
        if count > self._pages_max:
            raise PdfTooManyPagesError(f"at most {self._pages_max} pages are read, this has {count}")
        return count

    def document(self, share: int = 0, shares: int = 1) -> Document:
        """All pages, or one of `shares` runs of them, about as long each."""
        book = StyleBook()
        return Document(
            tuple(self.pages(book, share, shares)),
            book.styles(),
            title=self._meta("Title"),
            language=self._language(),
            producer=self._meta("Producer"),
            created_on=_day(self._meta("CreationDate")),
        )

    def pages(self, book: StyleBook, share: int = 0, shares: int = 1) -> Iterator[Page]:
        """One after the other, for whoever needs no more of a page than its turn; `book` fills as they come."""
        count = self.page_count
        for index in range(share * count // shares, (share + 1) * count // shares):
            page = raw.FPDF_LoadPage(self._handle, index)
            if not page:
                raise PdfDamagedError(f"page {index + 1} cannot be loaded: {EXPORT_AGAIN}")
            try:
                yield _read(page, index + 1, book)
            finally:
                raw.FPDF_ClosePage(page)

    def attachments(self) -> Iterator[tuple[str, bytes]]:
        for index in range(raw.FPDFDoc_GetAttachmentCount(self._handle)):
            attachment = raw.FPDFDoc_GetAttachment(self._handle, index)
            content = _file_of(attachment) if attachment else None
            if content is not None:
                yield _text(raw.FPDFAttachment_GetName, attachment), content

    def _meta(self, name: str) -> str:
        return _text(raw.FPDF_GetMetaText, self._handle, name.encode())

    def _language(self) -> str:
        return _text(raw.FPDFCatalog_GetLanguage, self._handle)


def _address(content: Any) -> Any:
    return content if isinstance(content, bytes) else ctypes.addressof(ctypes.c_char.from_buffer(content))


def _day(stamp: str) -> str:
    """`D:20260517…` as a date; nothing where there is none in it."""
    try:
        return date.fromisoformat(stamp.removeprefix("D:")[:8]).isoformat()
    except ValueError:
        return ""


def _refusal(code: int) -> PdfEncryptedError | PdfDamagedError:
    if code in PASSWORD_ERRORS:
        return PdfEncryptedError(f"it opens with a password only: {DECRYPT}")
    return PdfDamagedError(f"its structure cannot be followed: {EXPORT_AGAIN}")


def _read(page: Any, number: int, book: StyleBook) -> Page:
    view = _view(page)
    text = raw.FPDFText_LoadPage(page)
    if not text:
        return Page(number, view.width, view.height, view.rotation, ())
    try:
        reader = TextPage(_handle(text), view, book)
        blocks = in_reading_order(
            blocks_of(whole_lines(reader.lines())), partial(rules_of, _handle(page), view)
        )
        blocks += blocks_of(reader.turned)
    finally:
        raw.FPDFText_ClosePage(text)
    return Page(number, view.width, view.height, view.rotation, tuple(blocks))


def _handle(pointer: Any) -> int:
    handle = ctypes.cast(pointer, ctypes.c_void_p).value
    assert handle is not None
    return handle


def _view(page: Any) -> View:
    rect = raw.FS_RECTF()
    raw.FPDF_GetPageBoundingBox(page, rect)
    rotation = 90 * (raw.FPDFPage_GetRotation(page) % 4)
    return View(rect.left, rect.bottom, rect.right, rect.top, rotation)


def _file_of(attachment: Any) -> bytes | None:
    size = ctypes.c_ulong()
    if not raw.FPDFAttachment_GetFile(attachment, None, 0, size) or size.value > ATTACHMENT_MAX_BYTES:
        return None
    space = ctypes.create_string_buffer(size.value)
    if not raw.FPDFAttachment_GetFile(attachment, space, size.value, size):
        return None
    return space.raw


def _text(function: Any, *arguments: Any) -> str:
    """UTF-16 behind PDFium's usual pair of calls: how long, then the text."""
    length = function(*arguments, None, 0)
    if not 2 < length <= TEXT_MAX_BYTES:
        return ""
    space = (ctypes.c_ushort * (length // 2))()
    function(*arguments, space, length)
    text = bytes(memoryview(space).cast("B")[: length - 2]).decode("utf-16-le", "replace")
    return "".join(character for character in text if character.isprintable()).strip()

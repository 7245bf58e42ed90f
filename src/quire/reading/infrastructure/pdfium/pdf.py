"""One opened PDF: its pages as the page model, its attachments, its own words about itself. Not for two threads."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from datetime import date
from functools import cached_property, partial
from typing import Any

import pypdfium2_raw as raw

from quire.reading.domain.doubled_words import without_doubled_words
from quire.reading.domain.errors import (
    EXPORT_AGAIN,
    PdfDamagedError,
    PdfEmptyError,
    PdfEncryptedError,
    PdfTooManyPagesError,
    ReadingTooCostlyError,
)
from quire.reading.domain.layout import blocks_of, whole_lines
from quire.reading.domain.page import Block, Document, Page
from quire.reading.domain.reading_order import in_reading_order
from quire.reading.infrastructure.pdfium.annotations import FormFiller, is_written_on
from quire.reading.infrastructure.pdfium.library import start_library
from quire.reading.infrastructure.pdfium.rules import rules_of
from quire.reading.infrastructure.pdfium.style_book import StyleBook
from quire.reading.infrastructure.pdfium.text_page import TextPage
from quire.reading.infrastructure.pdfium.view import View
from quire.reading.ports.v1.wholeness_check import WholenessCheck

TEXT_MAX_BYTES = 2_000
ATTACHMENT_MAX_BYTES = 64 * 1024 * 1024
# In points: a letter's, where a page says nothing.
FALLBACK_SIZE = (612.0, 792.0)
# What helps, said to whoever reads the refusal.
DECRYPT = "save it without one (`qpdf --decrypt --password=…`) and send that"
UNLOCK = "save it without encryption and send that"


class Pdf:
    """`content` must live as long as this does: PDFium reads from it as it goes."""

    def __init__(self, content: Any, size_bytes: int, pages_max: int, wholeness: WholenessCheck) -> None:
        start_library()
        self._content = content
        self._pages_max = pages_max
        self._wholeness = wholeness
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
        if share == 0:
            # Once is enough, whoever reads the other shares.
            self._wholeness.check_structure()
        for index in range(share * count // shares, (share + 1) * count // shares):
            page, was_written_on = self._loaded(index)
            try:
                if count == 1 and _is_no_page(page):
                    raise PdfDamagedError(f"what it calls its pages are none: {EXPORT_AGAIN}")
                read = _read(page, index + 1, book, is_written_on=was_written_on)
                is_blank = raw.FPDFPage_CountObjects(page) == 0
                self._wholeness.check_page(index, count, is_blank=is_blank)
                yield read
            finally:
                raw.FPDF_ClosePage(page)

    def _loaded(self, index: int) -> tuple[Any, bool]:
        """And whether anybody wrote onto it, which it shows then."""
        page = self._page(index)
        if not is_written_on(page):
            return page, False
        self._filler.draw_annotations(page)
        raw.FPDF_ClosePage(page)
        return self._page(index), True

    @cached_property
    def _filler(self) -> FormFiller:
        return FormFiller(self._handle)

    def _page(self, index: int) -> Any:
        page = raw.FPDF_LoadPage(self._handle, index)
        if not page:
            raise PdfDamagedError(f"page {index + 1} cannot be loaded: {EXPORT_AGAIN}")
        return page

    def attachment_names(self) -> list[str]:
        """Of one that cannot be reached, nothing; the place in this list is its number."""
        return [
            _text(raw.FPDFAttachment_GetName, attachment) if attachment else ""
            for attachment in map(self._attachment, range(raw.FPDFDoc_GetAttachmentCount(self._handle)))
        ]

    def attachment(self, number: int) -> bytes:
        size = ctypes.c_ulong()
        attachment = self._attachment(number)
        if not attachment or not raw.FPDFAttachment_GetFile(attachment, None, 0, size):
            raise PdfDamagedError(f"a file attached to it cannot be read: {EXPORT_AGAIN}")
        if size.value > ATTACHMENT_MAX_BYTES:
            raise ReadingTooCostlyError(f"a file attached to it has more than {ATTACHMENT_MAX_BYTES} bytes")
        space = ctypes.create_string_buffer(size.value)
        if not raw.FPDFAttachment_GetFile(attachment, space, size.value, size):
            raise PdfDamagedError(f"a file attached to it cannot be read: {EXPORT_AGAIN}")
        self._wholeness.check_structure()
        self._wholeness.check_attachment(_text(raw.FPDFAttachment_GetName, attachment).lower())
        return space.raw

    def _attachment(self, number: int) -> Any:
        return raw.FPDFDoc_GetAttachment(self._handle, number)

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
    if code == raw.FPDF_ERR_PASSWORD:
        return PdfEncryptedError(f"it opens with a password only: {DECRYPT}")
    if code == raw.FPDF_ERR_SECURITY:
        return PdfEncryptedError(f"it opens with a certificate, or in another way of its own: {UNLOCK}")
    return PdfDamagedError(f"its structure cannot be followed: {EXPORT_AGAIN}")


def _read(page: Any, number: int, book: StyleBook, *, is_written_on: bool) -> Page:
    """A page that lies on its side, or on its head, is turned for it, as a reader does."""
    seen = view = _view(page)
    blocks, rotation = _blocks(page, view, book, is_fixed=False, is_written_on=is_written_on)
    if rotation != view.rotation:
        # The parser has its rows by how the page is shown.
        raw.FPDFPage_SetRotation(page, rotation // 90)
        view = view.turned(rotation)
        blocks, _ = _blocks(page, view, book, is_fixed=True, is_written_on=is_written_on)
    turn = (view.rotation - seen.rotation) % 360
    return Page(number, view.width, view.height, seen.rotation, tuple(blocks), turn)


def _blocks(
    page: Any, view: View, book: StyleBook, *, is_fixed: bool, is_written_on: bool
) -> tuple[list[Block], int]:
    """And the rotation in which most of the text is upright; the blocks only if that is the view's, or is fixed."""
    text = raw.FPDFText_LoadPage(page)
    if not text:
        return [], view.rotation
    try:
        reader = TextPage(_handle(text), view, book)
        lines = reader.lines()
        rotation = reader.upright_rotation()
        if rotation != view.rotation and not is_fixed:
            return [], rotation
        once = without_doubled_words(lines) if is_written_on else lines
        blocks = in_reading_order(blocks_of(whole_lines(once)), partial(rules_of, _handle(page), view))
        return blocks + blocks_of(reader.turned), rotation
    finally:
        raw.FPDFText_ClosePage(text)


def _is_no_page(page: Any) -> bool:
    """PDFium takes whatever stands for the pages and has no kids for one page, empty and of the size it falls back on.
    A page that says of itself how large it is may be as empty."""
    view, edges = _view(page), [ctypes.c_float() for _ in range(4)]
    is_sized = raw.FPDFPage_GetMediaBox(page, *edges) or (view.width, view.height) != FALLBACK_SIZE
    return not is_sized and raw.FPDFPage_CountObjects(page) == 0


def _handle(pointer: Any) -> int:
    handle = ctypes.cast(pointer, ctypes.c_void_p).value
    assert handle is not None
    return handle


def _view(page: Any) -> View:
    rect = raw.FS_RECTF()
    raw.FPDF_GetPageBoundingBox(page, rect)
    rotation = 90 * (raw.FPDFPage_GetRotation(page) % 4)
    return View(rect.left, rect.bottom, rect.right, rect.top, rotation)


def _text(function: Any, *arguments: Any) -> str:
    """UTF-16 behind PDFium's usual pair of calls: how long, then the text."""
    length = function(*arguments, None, 0)
    if not 2 < length <= TEXT_MAX_BYTES:
        return ""
    space = (ctypes.c_ushort * (length // 2))()
    function(*arguments, space, length)
    text = bytes(memoryview(space).cast("B")[: length - 2]).decode("utf-16-le", "replace")
    return "".join(character for character in text if character.isprintable()).strip()

"""Whether all that is read can be unpacked: the contents of a page, the forms that it may draw with, what was written
onto it, what its fonts say of their letters, and an attached file. PDFium leaves out what it cannot unpack or find, and
answers an empty page, half of one, or letters without a meaning, as if that were all. Nothing unpacked is looked at."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import pikepdf

from quire.reading.domain.errors import EXPORT_AGAIN, PdfDamagedError
from quire.reading.infrastructure.qpdf.containers import check_packed_objects, check_tables, packed_objects
from quire.reading.infrastructure.qpdf.packing import NotUnpackedError, check_memory, check_unpacks

FORM = "/Form"
WRITTEN = frozenset({"/Widget", "/FreeText", "/Stamp"})
# What says which letters a font's codes are; and its letters themselves, which say how wide each is.
MEANINGS = ("/ToUnicode", "/Encoding")
LETTERS = ("/FontFile", "/FontFile2", "/FontFile3")
# qpdf's word for an object that the file lists, at a place where there is none. What it does not list is null by law.
LOST = "not found in file after regenerating"


class QpdfWholenessCheck:
    """Implements `WholenessCheck`. Opens the file when it is first asked."""

    def __init__(self, content: Any, size_bytes: int) -> None:
        self._content = content
        self._size_bytes = size_bytes
        self._seen: set[tuple[int, int]] = set()

    def check_structure(self) -> None:
        with _refusals("what holds it together"):
            check_tables(self._content, self._size_bytes)
            if self._pdf is None:
                check_packed_objects(self._content, self._size_bytes)
                return
            for stream in packed_objects(self._pdf, self._content, self._size_bytes):
                check_unpacks(self._pdf, stream)

    def check_page(self, index: int, page_count: int, *, is_blank: bool) -> None:
        if len(self._pages) != page_count:
            # Two parsers see two documents. What one has read is there; of what it has not, nobody knows.
            if is_blank:
                raise PdfDamagedError(f"page {index + 1} cannot be followed: {EXPORT_AGAIN}")
            return
        with _refusals(f"page {index + 1}"):
            self._check(_drawn(self._pages[index], self._is_new))

    def check_attachment(self, name: str) -> None:
        if self._pdf is not None:
            with _refusals("the attached file"), contextlib.suppress(pikepdf.PikepdfError):
                self._check(_attached(self._pdf, name))

    def _check(self, streams: Iterator[Any]) -> None:
        assert self._pdf is not None
        for stream in streams:
            check_unpacks(self._pdf, stream)
        if any(LOST in str(warning) for warning in self._pdf.get_warnings()):
            raise NotUnpackedError("a part of it is not where the file has it")

    def _is_new(self, held: Any) -> bool:
        """Many pages share their fonts and a letterhead. What has no number is part of one page alone."""
        number: tuple[int, int] = held.objgen
        is_new = number not in self._seen
        if any(number):
            self._seen.add(number)
        return is_new

    @cached_property
    def _pdf(self) -> pikepdf.Pdf | None:
        """None where qpdf cannot follow the file."""
        file = io.BytesIO(self._content[: self._size_bytes])
        try:
            return pikepdf.open(file, suppress_warnings=True)
        except pikepdf.PikepdfError as error:
            check_memory(error)
            return None

    @cached_property
    def _pages(self) -> list[Any]:
        return [page.obj for page in self._pdf.pages] if self._pdf is not None else []


@contextlib.contextmanager
def _refusals(what: str) -> Iterator[None]:
    try:
        yield
    except NotUnpackedError as error:
        raise PdfDamagedError(f"{what} cannot be unpacked, {error}: {EXPORT_AGAIN}") from None


def _drawn(page: Any, is_new: Callable[[Any], bool]) -> Iterator[Any]:
    yield from filter(is_new, _contents(page))
    written = list(filter(is_new, _appearances(page)))
    yield from written
    holders = [page, *written]
    while holders:
        resources = _dictionary(holders.pop(), "/Resources")
        if resources is None or not is_new(resources):
            continue
        for font in filter(is_new, _fonts(resources)):
            yield from filter(is_new, _of_font(font))
        for form in filter(is_new, _forms(resources)):
            yield form
            holders.append(form)


def _contents(page: Any) -> Iterator[Any]:
    """One stream, or several in a row."""
    found = page.get("/Contents")
    if found is None:
        return
    for one in found if isinstance(found, pikepdf.Array) else [found]:
        if not isinstance(one, pikepdf.Stream):
            raise NotUnpackedError("its contents are none")
        yield one


def _appearances(page: Any) -> Iterator[Any]:
    """How fields and stamps look now; those with several looks have a dictionary of them."""
    listed = page.get("/Annots")
    for annotation in listed if isinstance(listed, pikepdf.Array) else ():
        if isinstance(annotation, pikepdf.Dictionary) and str(annotation.get("/Subtype")) in WRITTEN:
            looks = _dictionary(annotation, "/AP")
            now = None if looks is None else looks.get("/N")
            if isinstance(now, pikepdf.Stream):
                yield now
            elif isinstance(now, pikepdf.Dictionary):
                yield from (look for look in _values(looks, "/N") if isinstance(look, pikepdf.Stream))


def _fonts(resources: Any) -> Iterator[Any]:
    return (font for font in _values(resources, "/Font") if isinstance(font, pikepdf.Dictionary))


def _of_font(font: Any) -> Iterator[Any]:
    yield from _streams(font, MEANINGS)
    for one in (font, *_descendants(font)):
        if (descriptor := _dictionary(one, "/FontDescriptor")) is not None:
            yield from _streams(descriptor, LETTERS)


def _descendants(font: Any) -> Iterator[Any]:
    listed = font.get("/DescendantFonts")
    for one in listed if isinstance(listed, pikepdf.Array) else ():
        if isinstance(one, pikepdf.Dictionary):
            yield one


def _streams(holder: Any, names: tuple[str, ...]) -> Iterator[Any]:
    return (held for name in names if isinstance(held := holder.get(name), pikepdf.Stream))


def _forms(resources: Any) -> Iterator[Any]:
    """Whether it draws with them or not. Pictures have no text."""
    for one in _values(resources, "/XObject"):
        if isinstance(one, pikepdf.Stream) and one.get("/Subtype") == FORM:
            yield one


def _attached(pdf: pikepdf.Pdf, name: str) -> Iterator[Any]:
    for key, attached in pdf.attachments.items():
        if name in (key.lower(), attached.filename.lower()):
            yield attached.get_file().obj


def _values(holder: Any, name: str) -> Iterator[Any]:
    listed = _dictionary(holder, name)
    for key in () if listed is None else listed.keys():
        yield listed[key]


def _dictionary(holder: Any, name: str) -> Any:
    found = holder.get(name)
    return found if isinstance(found, pikepdf.Dictionary) else None

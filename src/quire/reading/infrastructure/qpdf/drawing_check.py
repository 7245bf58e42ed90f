"""Whether all that a page draws can be unpacked: its contents, and the forms that it may draw with. PDFium leaves out
what it cannot unpack, and answers an empty page, or half of one, as if that were all. Nothing unpacked is looked at."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pikepdf

from quire.reading.domain.errors import EXPORT_AGAIN, PdfDamagedError
from quire.reading.infrastructure.qpdf.packing import NotUnpackedError, check_memory, check_unpacks

FORM = "/Form"


class QpdfDrawingCheck:
    """Implements `DrawingCheck`. Opens the file when the first page is asked about."""

    def __init__(self, content: Any, size_bytes: int) -> None:
        self._content = content
        self._size_bytes = size_bytes
        self._pdf: pikepdf.Pdf | None = None
        self._seen: set[tuple[int, int]] = set()

    def check_page(self, index: int, page_count: int, *, is_blank: bool) -> None:
        if len(self._pages) != page_count:
            # Two parsers see two documents. What one has read is there; of what it has not, nobody knows.
            if is_blank:
                raise PdfDamagedError(f"page {index + 1} cannot be followed: {EXPORT_AGAIN}")
            return
        try:
            for stream in self._drawn(self._pages[index]):
                check_unpacks(stream)
        except NotUnpackedError as error:
            raise PdfDamagedError(f"page {index + 1} cannot be unpacked, {error}: {EXPORT_AGAIN}") from None

    @cached_property
    def _pages(self) -> list[Any]:
        """None where qpdf cannot follow the file."""
        file = io.BytesIO(self._content[: self._size_bytes])
        try:
            # Kept: its objects are nothing without it.
            self._pdf = pikepdf.open(file, suppress_warnings=True)
            return [page.obj for page in self._pdf.pages]
        except pikepdf.PikepdfError as error:
            check_memory(error)
            return []

    def _drawn(self, page: Any) -> Iterator[Any]:
        """What no page before has drawn with: many pages may share a letterhead."""
        yield from filter(self._is_new, _contents(page))
        rest = [page]
        while rest:
            for form in filter(self._is_new, _forms(rest.pop())):
                yield form
                rest.append(form)

    def _is_new(self, stream: Any) -> bool:
        is_new = stream.objgen not in self._seen
        self._seen.add(stream.objgen)
        return is_new


def _contents(page: Any) -> Iterator[Any]:
    """One stream, or several in a row. What a file promises and does not have is nothing."""
    found = page.get("/Contents")
    for one in found if isinstance(found, pikepdf.Array) else [found]:
        if isinstance(one, pikepdf.Stream):
            yield one
        elif one is not None:
            raise NotUnpackedError("its contents are none")


def _forms(holder: Any) -> Iterator[Any]:
    """Whether it draws with them or not. Pictures have no text."""
    listed = _dictionary(_dictionary(holder, "/Resources"), "/XObject")
    for name in () if listed is None else listed.keys():
        one = listed[name]
        if isinstance(one, pikepdf.Stream) and one.get("/Subtype") == FORM:
            yield one


def _dictionary(holder: Any, name: str) -> Any:
    found = None if holder is None else holder.get(name)
    return found if isinstance(found, pikepdf.Dictionary) else None

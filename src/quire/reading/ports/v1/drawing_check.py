"""A second look at a page, by another parser than the one that reads it."""

from __future__ import annotations

from typing import Protocol


class DrawingCheck(Protocol):
    def check_page(self, index: int, page_count: int, *, is_blank: bool) -> None:
        """`index` counts from zero; `page_count` is what the parser that reads has found, `is_blank` what it made of
        this page. SHALL raise a PdfDamagedError or a ReadingTooCostlyError for a page that draws something which cannot
        be unpacked: a parser leaves that out and says nothing. MAY pass a page that it cannot find, unless it is blank.
        """
        ...

"""A second look at a file, by another parser than the one that reads it: is everything there that was read?"""

from __future__ import annotations

from typing import Protocol


class WholenessCheck(Protocol):
    """All methods SHALL raise a PdfDamagedError or a ReadingTooCostlyError for what cannot be unpacked, or found where
    the file has it: a parser leaves that out and says nothing."""

    def check_structure(self) -> None:
        """What holds the objects of the file, or says where they are."""
        ...

    def check_page(self, index: int, page_count: int, *, is_blank: bool) -> None:
        """All that the page draws with. `index` counts from zero; `page_count` is what the parser that reads has found,
        `is_blank` what it made of this page. MAY pass a page that it cannot find, unless it is blank."""
        ...

    def check_attachment(self, name: str) -> None:
        """MAY pass one that it cannot find."""
        ...

"""The looks of a document's words, as its pages are read."""

from __future__ import annotations

from quire.reading.domain.page import TextStyle
from quire.reading.infrastructure.pdfium.font import Font, Outlines


class StyleBook:
    """Every look of a document, numbered."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, float, bool, bool], int] = {}
        self._known: dict[tuple[Font, float], int] = {}
        self.outlines: dict[Outlines, bool] = {}

    def number(self, font: Font, size: float) -> int:
        number = self._known.get((font, size))
        if number is None:
            key = (font.family, round(size, 1), font.is_bold, font.is_italic)
            number = self._known[font, size] = self._numbers.setdefault(key, len(self._numbers))
        return number

    def styles(self) -> tuple[TextStyle, ...]:
        return tuple(TextStyle(*key) for key in self._numbers)

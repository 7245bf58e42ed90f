"""The page model: pages, blocks, lines and words with their boxes, in points from the page's upper left corner as
a reader sees it. Named tuples, for a page has hundreds of them and a document hundreds of thousands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


class TextStyle(NamedTuple):
    """What a run of words looks like. `size` is what the reader sees, whatever the file multiplies it from."""

    family: str
    size: float
    is_bold: bool
    is_italic: bool


class Word(NamedTuple):
    """`confidence` is the share of its characters that the file gives a meaning; OCR brings its own."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    style: int
    confidence: float = 1.0


class Line(NamedTuple):
    """`is_hyphenated`: its last word ends with a hyphen and goes on in the next line; see `rejoined`."""

    words: tuple[Word, ...]
    box: Box
    baseline: float
    is_hyphenated: bool

    @property
    def text(self) -> str:
        return " ".join([word.text for word in self.words])


class Block(NamedTuple):
    """Lines that stand together, as a paragraph, a heading or a cell does."""

    lines: tuple[Line, ...]
    box: Box


@dataclass(frozen=True, slots=True)
class Page:
    """Blocks in reading order. `rotation` is the file's own, already applied to every box."""

    number: int
    width: float
    height: float
    rotation: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    pages: tuple[Page, ...]
    styles: tuple[TextStyle, ...]
    title: str = ""
    language: str = ""
    producer: str = ""
    created_on: str = ""
    """A date as the file gives it, `2026-05-17`, or nothing."""


def rejoined(first: str, second: str) -> str:
    """The halves of a word without the hyphen between them, if that was put there to break the line. One beside a
    digit or a capital is the word's own."""
    hyphen = "" if first[-1:].islower() and second[:1].islower() else "-"
    return f"{first}{hyphen}{second}"


def around(boxes: list[Box]) -> Box:
    return Box(
        min([box.left for box in boxes]),
        min([box.top for box in boxes]),
        max([box.right for box in boxes]),
        max([box.bottom for box in boxes]),
    )

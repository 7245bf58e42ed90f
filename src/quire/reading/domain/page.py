"""The page model: pages, blocks, lines and words with their boxes, in points from the page's upper left corner as
a reader sees it. Named tuples, for a page has hundreds of them and a document hundreds of thousands."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    """`is_hyphenated`: its last word ends with a hyphen and goes on in the next line; see `rejoined`. `tight` are the
    numbers of words with no white space before them, as a comma in another size is, or a small capital's rest."""

    words: tuple[Word, ...]
    box: Box
    baseline: float
    is_hyphenated: bool
    tight: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        if not self.tight:
            return " ".join([word.text for word in self.words])
        return "".join(
            [
                f"{'' if number in (0, *self.tight) else ' '}{word.text}"
                for number, word in enumerate(self.words)
            ]
        )


class Block(NamedTuple):
    """Lines that stand together, as a paragraph, a heading or a cell does."""

    lines: tuple[Line, ...]
    box: Box


@dataclass(frozen=True, slots=True)
class Page:
    """Blocks in reading order. `rotation` is the file's own, already applied to every box. A page whose text lies on
    its side, or on its head, was turned clockwise by `turn` degrees more to be read; `as_seen` turns it back."""

    number: int
    width: float
    height: float
    rotation: int
    blocks: tuple[Block, ...]
    turn: int = 0


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


def as_seen(page: Page) -> Page:
    """With every box where a viewer shows it."""
    if not page.turn:
        return page
    width, height = (page.width, page.height) if page.turn == 180 else (page.height, page.width)

    def box(left: float, top: float, right: float, bottom: float) -> Box:
        if page.turn == 90:
            return Box(top, height - right, bottom, height - left)
        if page.turn == 180:
            return Box(width - right, height - bottom, width - left, height - top)
        return Box(width - bottom, left, width - top, right)

    def line(one: Line) -> Line:
        words = tuple(Word(word.text, *box(*word[1:5]), *word[5:]) for word in one.words)
        place = box(*one.box)
        return Line(words, place, place.bottom, one.is_hyphenated, one.tight)

    blocks = tuple(Block(tuple(map(line, block.lines)), box(*block.box)) for block in page.blocks)
    return replace(page, width=width, height=height, blocks=blocks, turn=0)


def around(boxes: list[Box]) -> Box:
    return Box(
        min([box.left for box in boxes]),
        min([box.top for box in boxes]),
        max([box.right for box in boxes]),
        max([box.bottom for box in boxes]),
    )

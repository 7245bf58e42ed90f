"""The text of a document as its author wrote it: headings, paragraphs and list items over the ends of lines and pages,
without what only the paper needs (page numbers, running titles), which is kept apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from quire.reading.domain.mark import BULLET, DECIMAL, NUMBER, is_mark
from quire.reading.domain.page import Document, Line, Page, TextStyle, rejoined
from quire.reading.domain.page_rows import SAME_BASELINE, PageRows
from quire.reading.domain.running_lines import running_lines

LEADING_NUMBER = re.compile(r"^[\W\d_]+")
HEADING_SIZE = 1.12
HEADING_LINES = 3
HEADING_LENGTH = 160
# A heading that ends with a stop is shorter.
SENTENCE_WORDS = 8
# Prose does not end a sentence with each of so many lines.
SENTENCES_MIN = 3
LEVELS_MAX = 4
# An entry of a table of contents ends with dots and the number of a page.
LED = re.compile(r"(?:\.\s?){4,}\s*\w{1,6}$")
LED_LENGTH = 40
# And so does one without dots.
ENTRY_END = re.compile(r"\w\s+(?:\d{1,4}|[ivxlc]{1,6})$")
SENTENCE_END = re.compile(r"[.!?:;…»”\"')\]]$")


class Kind(StrEnum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    ENTRY = "entry"
    """Of a table of contents, with its number and page."""
    RUNNING = "running"


class Turn(NamedTuple):
    offset: int
    page: int


@dataclass(frozen=True, slots=True)
class Passage:
    """`page` is where it begins, and `turns` where in its text others begin. `level` counts headings from 1; `label` is
    an item's own mark, not in its text. `place` of a running one is `top`, `bottom` or `over`."""

    kind: Kind
    text: str
    page: int
    level: int = 0
    label: str = ""
    place: str = ""
    is_open: bool = False
    is_bold: bool = False
    turns: tuple[Turn, ...] = ()


def flow_of(document: Document) -> list[Passage]:
    running = running_lines(document)
    sizes = _heading_sizes(document, running)
    passages: list[Passage] = []
    for page in document.pages:
        passages += _at_edge(page, running)
        rows = PageRows(page, document.styles)
        for passage in _passages(
            _groups(page, running, document.styles), page.number, document.styles, sizes, rows
        ):
            _add(passages, passage)
    return _with_entries(passages)


def _with_entries(passages: list[Passage]) -> list[Passage]:
    """Entries of the upper level often go without dots; they are known by those after them."""
    entries: list[Passage] = []
    in_contents = False
    for passage in reversed(passages):
        if passage.kind is not Kind.RUNNING:
            in_contents = passage.kind is Kind.ENTRY or (in_contents and _ends_as_entry(passage))
        is_new = in_contents and passage.kind in (Kind.PARAGRAPH, Kind.ITEM, Kind.HEADING)
        entries.append(_entry(passage) if is_new else passage)
    return entries[::-1]


def _is_led(text: str) -> bool:
    """Only its end is looked at: whoever fills pages with dots pays for no more."""
    return LED.search(text, max(0, len(text) - LED_LENGTH)) is not None


def _ends_as_entry(passage: Passage) -> bool:
    return len(passage.text) <= HEADING_LENGTH and ENTRY_END.search(passage.text) is not None


def _entry(passage: Passage) -> Passage:
    return Passage(Kind.ENTRY, f"{passage.label} {passage.text}".strip(), passage.page)


def _groups(
    page: Page, running: dict[tuple[int, int], str], styles: tuple[TextStyle, ...]
) -> Iterator[list[Line]]:
    """The lines of each paragraph. A mark that hangs left of one, in a column of its own, is of it."""
    mark: list[Line] = []
    for block in page.blocks:
        lines = tuple(line for line in block.lines if (page.number, id(line)) not in running)
        for group in _paragraphs(lines, styles):
            if mark and not _hangs(mark[-1], group[0]):
                yield mark
                mark = []
            if len(group) == 1 and is_mark(group[0].text):
                mark = [*mark, *group]
            else:
                yield [*mark, *group]
                mark = []
    if mark:
        yield mark


def _hangs(mark: Line, line: Line) -> bool:
    return _is_level(mark, line) and mark.box.right <= line.box.left


def _add(passages: list[Passage], passage: Passage) -> None:
    """What a page or column broke off goes on where the text does, past the running titles between."""
    for place in range(len(passages) - 1, max(-1, len(passages) - 6), -1):
        before = passages[place]
        if before.kind is Kind.RUNNING:
            continue
        if _goes_on(before, passage):
            passages[place] = _continued(before, passage)
            return
        break
    passages.append(passage)


def _continued(before: Passage, after: Passage) -> Passage:
    text, turns = _joined(before.text, after.text), before.turns
    if after.page > (turns[-1].page if turns else before.page):
        turns = (*turns, Turn(len(text) - len(after.text), after.page))
    return replace(before, text=text, is_open=after.is_open, turns=turns)


def _goes_on(before: Passage, after: Passage) -> bool:
    if after.kind is not Kind.PARAGRAPH or before.kind not in (Kind.PARAGRAPH, Kind.ITEM):
        return False
    if before.text.endswith("\u00ad"):
        return True
    return before.is_open and before.is_bold == after.is_bold and after.text[:1].islower()


def _joined(before: str, after: str) -> str:
    return rejoined(before[:-1], after) if before.endswith("\u00ad") else f"{before} {after}"


def _passages(
    groups: Iterable[list[Line]], page: int, styles: tuple[TextStyle, ...], sizes: list[float], rows: PageRows
) -> Iterator[Passage]:
    for group in groups:
        text = _text(group)
        if not text:
            continue
        if _is_led(text):
            yield Passage(Kind.ENTRY, text, page)
            continue
        level = _heading_level(group, text, styles, sizes, rows)
        is_bold = all(styles[word.style].is_bold for line in group for word in line.words)
        if level:
            yield Passage(Kind.HEADING, text, page, level, is_bold=is_bold)
            continue
        mark = _mark_of(group, text)
        is_open = not SENTENCE_END.search(text)
        if mark:
            yield Passage(
                Kind.ITEM,
                text[mark.end() :],
                page,
                label=mark.group().strip(),
                is_open=is_open,
                is_bold=is_bold,
            )
        else:
            yield Passage(Kind.PARAGRAPH, text, page, is_open=is_open, is_bold=is_bold)


def _mark_of(lines: list[Line], text: str) -> re.Match[str] | None:
    """A decimal before a unit or another number, or with more cells in its row, is a figure."""
    mark = BULLET.match(text) or NUMBER.match(text)
    if mark is None or not DECIMAL.fullmatch(mark.group().strip()):
        return mark
    in_row = sum(_is_level(lines[0], line) for line in lines)
    is_cell = in_row > (2 if is_mark(lines[0].text) else 1)
    return None if is_cell or not any(map(str.isalpha, text[mark.end() :])) else mark


def _is_level(one: Line, other: Line) -> bool:
    return abs(one.baseline - other.baseline) < SAME_BASELINE * other.box.height


def _paragraphs(lines: tuple[Line, ...], styles: tuple[TextStyle, ...]) -> Iterator[list[Line]]:
    """A new one begins after a line that ends early, at an indent, at every mark of a list, where the look changes."""
    group: list[Line] = []
    right = max((line.box.right for line in lines), default=0.0)
    are_sentences = len(lines) >= SENTENCES_MIN and all(map(_is_whole, lines))
    for line in lines:
        if group and (
            are_sentences or _look(group[-1], styles) != _look(line, styles) or _begins(group, line, right)
        ):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _is_whole(line: Line) -> bool:
    """A sentence from its beginning to its end; several under each other are items whose marks are no letters."""
    text = line.text
    return text[:1].isupper() and text.endswith((".", "!", "?", ";")) and " " in text


def _look(line: Line, styles: tuple[TextStyle, ...]) -> tuple[float, bool]:
    """Its size, roughly, and whether all of it is bold."""
    looks = [styles[word.style] for word in line.words]
    return round(max(look.size for look in looks)), all(look.is_bold for look in looks)


def _begins(group: list[Line], line: Line, right: float) -> bool:
    above, first, text = group[-1], group[0], line.text
    size = line.box.height
    if abs(above.baseline - line.baseline) < 0.3 * size:
        return False
    if above.is_hyphenated:
        return False
    if _is_led(above.text):
        return True
    ends_early = right - above.box.right > 6 * size
    if BULLET.match(text) or (NUMBER.match(text) and (ends_early or SENTENCE_END.search(above.text))):
        return True
    indented = line.box.left - above.box.left > 0.8 * size and len(group) > 1
    if indented and line.box.left - first.box.left > -0.5 * size and SENTENCE_END.search(above.text):
        return True
    return ends_early and bool(SENTENCE_END.search(above.text))


def _text(lines: Iterable[Line]) -> str:
    """A hyphen at the end of a line goes where its word goes on, and stays, soft, where that is on the next page."""
    text = ""
    for line in lines:
        piece = line.text
        text = _joined(text, piece) if text else piece
        if line.is_hyphenated:
            text = text[:-1] + "\u00ad"
    return text.strip()


def _heading_sizes(document: Document, running: dict[tuple[int, int], str]) -> list[float]:
    """Sizes above that of the running text, the largest first; the running text's own comes last."""
    weights: Counter[float] = Counter()
    for page in document.pages:
        for block in page.blocks:
            for line in block.lines:
                if running.get((page.number, id(line))) != "over":
                    weights[document.styles[line.words[0].style].size] += len(line.text)
    if not weights:
        return [0.0]
    body = weights.most_common(1)[0][0]
    larger: list[float] = []
    for size in sorted((size for size in weights if size >= HEADING_SIZE * body), reverse=True):
        # Sizes a hair apart are one.
        if not larger or size < 0.95 * larger[-1]:
            larger.append(size)
    return [*larger[: LEVELS_MAX - 1], body]


def _heading_level(
    lines: list[Line], text: str, styles: tuple[TextStyle, ...], sizes: list[float], rows: PageRows
) -> int:
    level = _level_by_look(lines, text, styles, sizes)
    # The largest of all is the title, whatever stands beside it.
    is_title = level == 1 and len(sizes) > 1
    return level if not level or is_title or not rows.is_cell(lines) else 0


def _level_by_look(lines: list[Line], text: str, styles: tuple[TextStyle, ...], sizes: list[float]) -> int:
    if len(lines) > HEADING_LINES or len(text) > HEADING_LENGTH or not any(map(str.isalpha, text)):
        return 0
    looks = [styles[word.style] for line in lines for word in line.words]
    size = max(look.size for look in looks)
    body = sizes[-1]
    is_bold = all(look.is_bold for look in looks)
    if size >= HEADING_SIZE * body:
        level = next((level for level, known in enumerate(sizes, 1) if size >= 0.95 * known), len(sizes))
        return level if level == 1 or is_bold or not _is_sentence(text) else 0
    if is_bold and size >= 0.95 * body and _is_worded(text) and not text.endswith((".", ",", ";", ":")):
        return len(sizes)
    return 0


def _is_sentence(text: str) -> bool:
    """As a summary or a quotation in large letters is."""
    return text.endswith((".", "!", "?")) and len(text.split()) >= SENTENCE_WORDS


def _is_worded(text: str) -> bool:
    """After its number a heading is words; `(Net): 7.00` and `F20260023` are not."""
    after = LEADING_NUMBER.sub("", text).replace(" ", "")
    return 2 * sum(map(str.isalpha, after)) >= len(after) > 0


def _at_edge(page: Page, running: dict[tuple[int, int], str]) -> Iterator[Passage]:
    for block in page.blocks:
        for line in block.lines:
            place = running.get((page.number, id(line)))
            if place:
                yield Passage(Kind.RUNNING, line.text, page.number, place=place)

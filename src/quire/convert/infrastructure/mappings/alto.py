"""`alto`: ALTO 4.3. Pages, blocks, lines and words with boxes in 1/1200 inch, fonts, confidence, broken words joined.

Written as text: a document has a hundred thousand elements, and building a tree of them first takes longer than all
the rest.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO
from xml.sax.saxutils import quoteattr

from quire.convert.domain.mapping_list import DESCRIPTIONS
from quire.convert.domain.xml_mapping import XmlMapping
from quire.convert.infrastructure.mappings.mapping import Mapping, Source
from quire.convert.infrastructure.mappings.schema import Schema
from quire.reading import Block, Box, Line, Page, TextStyle, as_seen, rejoined

NAMESPACE = "http://www.loc.gov/standards/alto/ns-v4#"
LOCATION = f"{NAMESPACE} http://www.loc.gov/standards/alto/v4/alto-4-3.xsd"
UNITS = 1200 / 72
VERSION = "5"
HEAD = f"""<?xml version="1.0" encoding="UTF-8"?>
<alto xmlns="{NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="{LOCATION}" SCHEMAVERSION="4.3">
<Description><MeasurementUnit>inch1200</MeasurementUnit><Processing ID="P0">\
<processingCategory>contentGeneration</processingCategory>\
<processingStepDescription>text and geometry of the PDF itself</processingStepDescription>\
<processingSoftware><softwareCreator>Quire</softwareCreator>\
<softwareName>quire gateway, mapping alto {VERSION}</softwareName></processingSoftware></Processing></Description>
<Styles>
"""
BETWEEN = "</Styles>\n<Layout>\n"
FOOT = "</Layout>\n</alto>\n"
RUN_PAGES = 8
SCHEMA = Schema("alto/alto-4-3.xsd")
PART_IN_MEMORY_BYTES = 16_777_216
COPY_BYTES = 4_194_304
NAME_DIGITS = 12
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def write(source: Source) -> bytes:
    """A few pages at a time are read, written and held against the schema, as a document of their own: the whole in one
    tree would take twenty times its size in memory, and as long again to fill it."""
    bodies: list[bytes] = []
    styles: list[str] = []
    names: list[str] = []
    for pages, looks in source.runs(RUN_PAGES):
        for style in looks[len(names) :]:
            names.append(_name(style))
            styles.append(_style(names[-1], style))
        bodies.append("".join(part for page in pages for part in _page(page, names)).encode())
        SCHEMA.check_passing(_whole(styles, bodies[-1:]))
    return _whole(styles, bodies)


def _whole(styles: list[str], bodies: list[bytes]) -> bytes:
    return b"".join([HEAD.encode(), "".join(styles).encode(), BETWEEN.encode(), *bodies, FOOT.encode()])


def _name(style: TextStyle) -> str:
    """From what it looks like: whoever reads a share of the pages calls it the same."""
    return "S" + hashlib.sha256(repr(tuple(style)).encode()).hexdigest()[:NAME_DIGITS]


def _style(name: str, style: TextStyle) -> str:
    looks = " ".join(["bold"] * style.is_bold + ["italics"] * style.is_italic)
    how = f' FONTSTYLE="{looks}"' if looks else ""
    family = quoteattr(style.family or "unknown")
    return f'<TextStyle ID="{name}" FONTFAMILY={family} FONTSIZE="{style.size:g}"{how}/>\n'


def _page(read: Page, names: Sequence[str]) -> Iterator[str]:
    page, turned = as_seen(read), f' ROTATION="{read.turn}"' if read.turn else ""
    size = f'HEIGHT="{round(page.height * UNITS)}" WIDTH="{round(page.width * UNITS)}"'
    yield f'<Page ID="P{page.number}" PHYSICAL_IMG_NR="{page.number}" {size}>\n'
    yield f'<PrintSpace HPOS="0" VPOS="0" {size}>\n'
    for number, block in enumerate(page.blocks, 1):
        yield from _block(f"P{page.number}B{number}", block, names, turned)
    yield "</PrintSpace>\n</Page>\n"


def _place(box: Box) -> str:
    left, top, right, bottom = box
    return (
        f'HPOS="{round(left * UNITS)}" VPOS="{round(top * UNITS)}"'
        f' WIDTH="{round((right - left) * UNITS)}" HEIGHT="{round((bottom - top) * UNITS)}"'
    )


def _block(name: str, block: Block, names: Sequence[str], turned: str) -> Iterator[str]:
    """`turned`: how far its text is turned to the left as the page is seen."""
    yield f'<TextBlock ID="{name}" {_place(block.box)}{turned}>\n'
    whole = _broken_words(block.lines)
    for number, line in enumerate(block.lines, 1):
        yield _line(f"{name}L{number}", line, names, whole.get(number - 2, ""), whole.get(number - 1, ""))
    yield "</TextBlock>\n"


def _broken_words(lines: tuple[Line, ...]) -> dict[int, str]:
    """The words that go on in the next line, by the lines they are broken in; there may be several of these, if a line
    is nothing but the middle of a word."""
    whole: dict[int, str] = {}
    begin = 0
    while begin < len(lines) - 1:
        end = begin + 1
        if lines[begin].is_hyphenated:
            word = lines[begin].words[-1].text[:-1]
            while end < len(lines) - 1 and lines[end].is_hyphenated and len(lines[end].words) == 1:
                word = rejoined(word, lines[end].words[0].text[:-1])
                end += 1
            word = rejoined(word, lines[end].words[0].text)
            whole |= dict.fromkeys(range(begin, end), word)
        begin = end
    return whole


def _line(name: str, line: Line, names: Sequence[str], first: str, last: str) -> str:
    """`first` is the whole of a word that this line goes on with; `last`, of one that goes on in the next."""
    style = line.words[0].style
    end = len(line.words) - 1
    place = f'{_place(line.box)} BASELINE="{round(line.baseline * UNITS)}"'
    parts = [f'<TextLine ID="{name}" {place} STYLEREFS="{names[style]}">']
    level: tuple[float, float] | None = None
    stands = upright = ""
    edge = 0
    tight = (0, *line.tight)
    for number, word in enumerate(line.words):
        text, left, top, right, bottom, own, confidence = word
        if level != (top, bottom):
            # Nearly always once a line.
            level = (top, bottom)
            stands = f'VPOS="{round(top * UNITS)}"'
            upright = f'{stands} HEIGHT="{round((bottom - top) * UNITS)}"'
        if not text.isalnum():
            text = text.translate(ESCAPES)
        more = "" if own == style else f' STYLEREFS="{names[own]}"'
        if number == end and last:
            text = text[:-1]
        if number == 0 and first:
            more += _half(2, first)
        elif number == end and last:
            more += _half(1, last)
        sure = "1" if confidence == 1.0 else f"{confidence:g}"
        begin, width = round(left * UNITS), round((right - left) * UNITS)
        if number not in tight:
            parts.append(f'<SP HPOS="{edge}" WIDTH="{begin - edge if begin > edge else 0}" {stands}/>')
        edge = begin + width
        parts.append(f'<String CONTENT="{text}" HPOS="{begin}" WIDTH="{width}" {upright} WC="{sure}"{more}/>')
    if last:
        parts.append('<HYP CONTENT="-"/>')
    parts.append("</TextLine>\n")
    return "".join(parts)


def _half(number: int, whole: str) -> str:
    return f' SUBS_TYPE="HypPart{number}" SUBS_CONTENT="{whole.translate(ESCAPES)}"'


def join(parts: list[IO[bytes]]) -> IO[bytes]:
    """Each part is a valid document of its own; together they differ in nothing but their styles and pages. The whole
    is what one reader of all pages would have written."""
    whole: IO[bytes] = tempfile.SpooledTemporaryFile(PART_IN_MEMORY_BYTES)  # noqa: SIM115
    styles = dict.fromkeys(style for part in parts for style in _styles(part))
    whole.write(HEAD.encode() + b"".join(styles) + BETWEEN.encode())
    for part in parts:
        _copy_pages(part, whole)
    whole.write(FOOT.encode())
    whole.seek(0)
    return whole


def _styles(part: IO[bytes]) -> Iterator[bytes]:
    """Each on a line of its own, however many there are. Leaves the part where its pages begin."""
    end, layout = BETWEEN.encode().splitlines(True)
    part.seek(len(HEAD.encode()))
    while (line := part.readline()) and line != end:
        yield line
    part.seek(len(layout), os.SEEK_CUR)


def _copy_pages(part: IO[bytes], whole: IO[bytes]) -> None:
    begin = part.tell()
    rest = part.seek(0, os.SEEK_END) - len(FOOT.encode()) - begin
    part.seek(begin)
    while rest > 0 and (chunk := part.read(min(rest, COPY_BYTES))):
        whole.write(chunk)
        rest -= len(chunk)


MAPPING = Mapping(
    XmlMapping(
        name="alto",
        version=VERSION,
        description=DESCRIPTIONS["alto"],
        schema="ALTO 4.3",
        namespace=NAMESPACE,
    ),
    write,
    None,
    join,
)

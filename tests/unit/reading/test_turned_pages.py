"""Pages that lie on their side or stand on their heads, in the file or before the reader, and Hebrew on a page."""

from __future__ import annotations

import pytest

from quire.convert.infrastructure.mappings.sample_pdf import assembled
from quire.reading import open_pdf
from quire.reading.domain.page import Page, as_seen

WIDTH, HEIGHT = 600, 800
# Turns what is drawn to the left by as much as the page's rotation turns it to the right.
DRAWN_TURNED = {0: b"", 90: b"0 1 -1 0 %d 0 cm" % HEIGHT, 180: b"-1 0 0 -1 %d %d cm" % (WIDTH, HEIGHT),
                270: b"0 -1 1 0 0 %d cm" % WIDTH}  # fmt: skip
TEXT = b"""BT /F1 14 Tf 1 0 0 1 50 700 Tm (1. Heading) Tj
/F1 10 Tf 1 0 0 1 50 670 Tm (Agr) Tj 1 0 0 1 65.56 670 Tm (eement of all) Tj
1 0 0 1 50 658 Tm (parties to it, on paper) Tj 1 0 0 1 50 646 Tm (and in deed) Tj
1 0 0 1 300 100 Tm (7) Tj ET"""
# The letters a to d are shown and mean those of shalom, from right to left.
HEBREW = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /X def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
4 beginbfchar <61> <05DD> <62> <05D5> <63> <05DC> <64> <05E9> endbfchar
1 beginbfrange <20> <60> <0020> endbfrange
1 beginbfrange <65> <7E> <0065> endbfrange
endcmap end end"""


def page_of(content: bytes, *, rotate: int = 0, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Page:
    pdf = assembled(
        (
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Rotate %d /Contents 4 0 R "
            b"/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>" % (*size, rotate),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 7 0 R >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(HEBREW), HEBREW),
        )
    )
    return open_pdf(pdf, len(pdf), 10).document().pages[0]


def blocks(page: Page) -> list[list[str]]:
    return [[line.text for line in block.lines] for block in page.blocks]


def boxes(page: Page) -> list[tuple[float, ...]]:
    return [
        tuple(round(edge, 1) for edge in word[1:5])
        for block in page.blocks
        for line in block.lines
        for word in line.words
    ]


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_a_page_that_its_rotation_puts_upright_is_read_as_any_other(rotate: int) -> None:
    size = (HEIGHT, WIDTH) if rotate != 180 else (WIDTH, HEIGHT)
    page, straight = page_of(DRAWN_TURNED[rotate] + b" " + TEXT, rotate=rotate, size=size), page_of(TEXT)
    assert blocks(straight)[:2] == [
        ["1. Heading"],
        ["Agreement of all", "parties to it, on paper", "and in deed"],
    ]
    assert (blocks(page), boxes(page), page.turn) == (blocks(straight), boxes(straight), 0)
    assert (page.width, page.height) == (WIDTH, HEIGHT)


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_a_page_that_lies_on_its_side_is_turned_to_be_read(rotate: int) -> None:
    page, straight = page_of(TEXT, rotate=rotate), page_of(TEXT)
    assert (blocks(page), boxes(page)) == (blocks(straight), boxes(straight))
    assert page.turn == 360 - rotate


@pytest.mark.parametrize("rotate", [90, 180, 270])
def test_what_was_turned_to_be_read_is_told_where_it_is_seen(rotate: int) -> None:
    page, straight = as_seen(page_of(TEXT, rotate=rotate)), page_of(TEXT)
    assert (page.width, page.height) == ((HEIGHT, WIDTH) if rotate != 180 else (WIDTH, HEIGHT))
    seen = {
        90: lambda left, top, right, bottom: (HEIGHT - bottom, left, HEIGHT - top, right),
        180: lambda left, top, right, bottom: (WIDTH - right, HEIGHT - bottom, WIDTH - left, HEIGHT - top),
        270: lambda left, top, right, bottom: (top, WIDTH - right, bottom, WIDTH - left),
    }[rotate]
    assert boxes(page) == [tuple(round(edge, 1) for edge in seen(*box)) for box in boxes(straight)]


def test_a_stamp_on_its_head_does_not_turn_the_page() -> None:
    stamp = b" BT /F1 10 Tf -1 0 0 -1 500 600 Tm (upside) Tj ET"
    page = page_of(TEXT + stamp)
    assert page.turn == 0
    assert blocks(page)[-1] == ["upside"]
    assert blocks(page)[:-1] == blocks(page_of(TEXT))


@pytest.mark.parametrize("rotate", [0, 180])
def test_hebrew_is_read_from_the_right_and_stands_where_it_stands(rotate: int) -> None:
    page = page_of(
        b"BT /F1 10 Tf 1 0 0 1 50 700 Tm (with ) Tj /F2 10 Tf (abcd) Tj /F1 10 Tf ( inside.) Tj ET",
        rotate=rotate,
    )
    [[line]] = [block.lines for block in page.blocks]
    assert line.text == "with \u05e9\u05dc\u05d5\u05dd inside."
    one, two, three = line.words
    assert 50 <= one.left < one.right < two.left < two.right < three.left < three.right

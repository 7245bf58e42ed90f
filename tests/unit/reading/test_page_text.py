"""What a page says, on pages made here: characters beyond the first plane, text up the margin, tables whose cells hold
several lines."""

from __future__ import annotations

import re

import pytest
from tests.unit.convert.samples import mapped

from quire.convert.infrastructure.mappings.sample_pdf import assembled
from quire.reading import open_pdf
from quire.reading.domain.page import Page, rejoined

# The letter Q is drawn and means a telephone, as symbol fonts do it; the underscore means a soft hyphen, and the tilde
# has the code of the bullet in TeX's fonts.
TELEPHONE = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /X def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
3 beginbfchar <51> <D83DDCDE> <5F> <00AD> <7E> <0088> endbfchar
1 beginbfrange <20> <50> <0020> endbfrange
1 beginbfrange <52> <5E> <0052> endbfrange
1 beginbfrange <60> <7D> <0060> endbfrange
endcmap end end"""


def pdf_of(*drawn: bytes) -> bytes:
    content = b"BT /F1 10 Tf %s ET" % b" ".join(drawn)
    return assembled(
        (
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
            b"/Resources << /Font << /F1 5 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(TELEPHONE), TELEPHONE),
        )
    )


def page_of(*drawn: bytes) -> Page:
    pdf = pdf_of(*drawn)
    return open_pdf(pdf, len(pdf), 10).document().pages[0]


def shown(text: str, left: float, top: float) -> bytes:
    return b"1 0 0 1 %g %g Tm (%s) Tj" % (left, 842 - top, text.encode())


def texts(page: Page) -> list[str]:
    return [" | ".join(line.text for line in block.lines) for block in page.blocks]


def test_words_after_an_emoji_keep_their_letters_and_places() -> None:
    page = page_of(shown("Q +33 456 and Q more", 100, 100), shown("below it", 100, 112))
    assert texts(page) == ["📞 +33 456 and 📞 more | below it"]
    without = page_of(shown("W +33 456 and W more", 100, 100), shown("below it", 100, 112))
    words, others = (
        [word for line in some.blocks[0].lines for word in line.words] for some in (page, without)
    )
    last, other = words[-1], others[-1]
    assert (last.text, last.left, last.right) == ("it", other.left, other.right)


def test_text_up_the_margin_is_words_and_stays_out_of_the_rows_it_crosses() -> None:
    up = b"0 1 -1 0 30 500 Tm (S) Tj 0 1 -1 0 30 506.67 Tm (ide note) Tj"
    rows = [shown(f"row {n} here", 100, 300 + 20 * n) for n in range(3)]
    page = page_of(*rows[:2], up, rows[2])
    assert texts(page)[-1] == "Side note"
    assert [text for block in texts(page)[:-1] for text in block.split(" | ")] == [
        "row 0 here",
        "row 1 here",
        "row 2 here",
    ]
    margin = page.blocks[-1].box
    assert margin.height > 30 > 15 > margin.width


def test_text_of_several_lines_in_a_cell_stays_whole() -> None:
    page = page_of(
        shown("1", 50, 106),
        *(shown(line, 100, 100 + 12 * n) for n, line in enumerate(("A long name", "that goes on"))),
        shown("2 pcs", 300, 106),
        shown("9,90", 400, 106),
        shown("2", 50, 146),
        *(shown(line, 100, 140 + 12 * n) for n, line in enumerate(("Another", "of two lines"))),
        shown("4 pcs", 300, 146),
        shown("8,80", 400, 146),
    )
    assert texts(page) == [
        "1",
        "A long name | that goes on",
        "2 pcs | 9,90",
        "2",
        "Another | of two lines",
        "4 pcs | 8,80",
    ]


def test_columns_whose_lines_stand_beside_each_other_are_read_across() -> None:
    names = ("Number", "Day", "Order", "Due")
    page = page_of(
        *(shown(name, 100, 100 + 12 * n) for n, name in enumerate(names)),
        *(shown(f"value {n}", 300, 100 + 12 * n) for n in range(4)),
    )
    assert texts(page) == [f"{name} | value {n}" for n, name in enumerate(names)]


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("docu", "ment", "document"),
        ("RTD", "5521", "RTD-5521"),
        ("2026", "10", "2026-10"),
        ("EU", "weit", "EU-weit"),
        ("Hans", "Peter", "Hans-Peter"),
        ("доку", "мент", "документ"),
    ],
)
def test_a_hyphen_beside_a_digit_or_a_capital_is_the_words_own(first: str, second: str, whole: str) -> None:
    assert rejoined(first, second) == whole


# Helvetica's at this size, where they are not 5.56.
WIDTHS = {"f": 2.78, "s": 5.0}


def accented(before: str, accent: bytes, after: str, left: float, top: float) -> bytes:
    """As TeX's old fonts do it: the accent first, then the letter under it."""
    edge = left + sum(WIDTHS.get(letter, 5.56) for letter in before)
    base = WIDTHS.get(after[0], 5.56)
    return b" ".join(
        [
            shown(before, left, top),
            b"1 0 0 1 %g %g Tm (%s) Tj" % (edge + (base - 3.33) / 2, 842 - top + 0.4, accent),
            shown(after, edge, top),
        ]
    )


def test_an_accent_drawn_over_its_letter_is_part_of_it() -> None:
    page = page_of(
        accented("f", rb"\310", "ur alle", 100, 100), accented("sp", rb"\310", "ater an", 100, 112),
        accented("", rb"\302", "et e", 100, 124),
    )  # fmt: skip
    assert texts(page) == ["für alle | später an | ét e"]


def test_an_accent_over_nothing_stays_what_it_is() -> None:
    assert texts(page_of(shown("run `make` or x", 100, 100))) == ["run `make` or x"]


def test_a_letter_set_lower_stays_in_its_word_and_an_index_does_not() -> None:
    lowered = b"1 0 0 1 106 740 Tm (E) Tj 1 0 0 1 112 742 Tm (X is) Tj"
    page = page_of(shown("T", 100, 100), lowered)
    assert texts(page) == ["TEX is"]
    word = page.blocks[0].lines[0].words[0]
    assert word.bottom == pytest.approx(100 + 2.07 + 2, abs=0.1)
    index = b"/F1 6 Tf 1 0 0 1 106.2 740 Tm (E) Tj"
    assert texts(page_of(shown("T", 100, 100), index)) == ["T E"]


def test_dots_that_lead_to_a_page_begin_a_word_of_their_own() -> None:
    page = page_of(shown("1.2 Some title................ 12 and so on...", 100, 100))
    assert [word.text for word in page.blocks[0].lines[0].words] == [
        "1.2", "Some", "title", "................", "12", "and", "so", "on...",
    ]  # fmt: skip


def test_a_soft_hyphen_that_is_drawn_is_a_hyphen() -> None:
    assert texts(page_of(shown("make _f Makefile_AVX", 100, 100))) == ["make -f Makefile-AVX"]


@pytest.mark.parametrize("beside", [b"", shown("beside", 420, 100)])
def test_words_that_are_drawn_from_right_to_left_in_one_go_are_words_still(beside: bytes) -> None:
    page = page_of(b"1 0 0 1 300 742 Tm [(RAMEND) 12000 (SP)] TJ", beside)
    found = {word.text: word.left for block in page.blocks for line in block.lines for word in line.words}
    assert found["RAMEND"] == pytest.approx(300)
    assert found["SP"] < 240


def test_signs_with_white_space_between_them_are_words_of_their_own() -> None:
    page = page_of(shown("E ", 88, 100), b"10 Tc", shown("=+", 100, 100), b"0 Tc", shown(" F", 132, 100))
    assert texts(page) == ["E = + F"]


# A word, its rest in small capitals, a comma, and another word.
SIZES = b"1 0 0 1 100 700 Tm (mm) Tj /F1 7 Tf (LL) Tj /F1 10 Tf (, ll) Tj"


def test_a_piece_of_another_size_is_a_word_of_its_own_set_tight_against_the_one_before() -> None:
    (line,) = page_of(SIZES).blocks[0].lines
    assert [word.text for word in line.words] == ["mm", "LL", ",", "ll"]
    assert line.tight == (1, 2)
    assert line.text == "mmLL, ll"
    heights = [round(word.bottom - word.top, 1) for word in line.words]
    assert heights[0] == heights[2] == heights[3] > heights[1]
    assert len({word.style for word in line.words}) == 2


def test_an_exponent_keeps_its_space_as_before() -> None:
    (line,) = (
        page_of(b"1 0 0 1 100 700 Tm (mm) Tj /F1 7 Tf 4 Ts (2) Tj /F1 10 Tf 0 Ts ( ll) Tj").blocks[0].lines
    )
    assert ([word.text for word in line.words], line.tight) == (["mm", "2", "ll"], ())


def test_alto_has_no_space_before_what_is_set_tight() -> None:
    alto = mapped("alto", pdf_of(SIZES)).decode()
    assert re.findall(r'<(SP)|<String CONTENT="([^"]*)"', alto) == [
        ("", "mm"), ("", "LL"), ("", ","), ("SP", ""), ("", "ll")
    ]  # fmt: skip


def test_the_bullet_of_tex_is_a_bullet() -> None:
    assert texts(page_of(shown("~ an item", 100, 100))) == ["• an item"]

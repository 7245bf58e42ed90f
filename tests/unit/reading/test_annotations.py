"""What people wrote onto a page is read with it, where it stands; what is not shown is not."""

from __future__ import annotations

import zlib

import pytest
from tests.support.hostile.parts import FLATE, one_page, stream, text
from tests.unit.reading.filled_form import FORM, WRITTEN, form_with, page_with

from quire.reading import PdfDamagedError, open_pdf


def words(pdf: bytes) -> list[tuple[str, int, int]]:
    page = open_pdf(pdf, len(pdf), 10).document().pages[0]
    return [
        (word.text, round(word.left), round(word.bottom))
        for block in page.blocks
        for line in block.lines
        for word in line.words
    ]


@pytest.mark.parametrize(
    "annotation",
    [
        b"/Subtype /Widget /FT /Tx /V (Jane Doe)",
        b"/Subtype /FreeText /Contents (Jane Doe) /DA (/Helv 12 Tf)",
        b"/Subtype /Stamp /F 4",
    ],
)
def test_what_was_filled_in_typed_or_stamped_is_read_where_it_stands(annotation: bytes) -> None:
    name, jane, doe = words(page_with(annotation))
    assert (name[0], jane, doe[0]) == ("Name:", ("Jane", 122, name[2]), "Doe")


@pytest.mark.parametrize(
    "annotation",
    [
        b"/Subtype /Widget /FT /Tx /F 2",
        b"/Subtype /Widget /FT /Tx /F 32",
        b"/Subtype /Link",
        b"/Subtype /Popup",
    ],
)
def test_what_is_not_shown_or_no_writing_is_not_read(annotation: bytes) -> None:
    assert [word for word, _, _ in words(page_with(annotation))] == ["Name:"]


@pytest.mark.parametrize("flag", [2, 32])
def test_what_is_not_shown_is_not_read_beside_what_is(flag: int) -> None:
    rest = b"/Subtype /Widget /FT /Tx >>", b"/Subtype /Widget /FT /Tx /F %d >>" % flag
    looks = stream(WRITTEN, FORM), stream(text(b"unseen", x=2, y=6), FORM)
    placed = [
        b"<< /Type /Annot /Rect [120 %d 320 %d] /AP << /N %d 0 R >> %s" % (height, height + 20, number, end)
        for height, number, end in zip((694, 594), (7, 8), rest, strict=True)
    ]
    pdf = one_page(text(b"Name:", x=72, y=700), *placed, *looks, more=b"/Annots [5 0 R 6 0 R]")
    assert [word for word, _, _ in words(pdf)] == ["Name:", "Jane", "Doe"]


def test_a_value_without_a_look_is_read_as_viewers_show_it() -> None:
    assert [word for word, _, _ in words(form_with(b"Jane Doe"))] == ["Name:", "Jane", "Doe"]


def test_a_value_counts_and_not_the_look_of_the_one_before() -> None:
    assert [word for word, _, _ in words(form_with(b"Ada", look=WRITTEN))] == ["Name:", "Ada"]


def test_what_was_written_into_the_page_too_is_read_once() -> None:
    drawn = text(b"Jane Doe", x=122, y=700)
    assert [word for word, _, _ in words(form_with(b"Jane Doe", look=WRITTEN, drawn=drawn))] == [
        "Name:",
        "Jane",
        "Doe",
    ]


def test_writing_that_cannot_be_unpacked_is_no_empty_field() -> None:
    lost = stream(zlib.compress(WRITTEN * 100)[:-20], FORM + FLATE)
    with pytest.raises(PdfDamagedError, match="page 1 cannot be unpacked"):
        words(page_with(b"/Subtype /Widget /FT /Tx", look=lost))


def test_a_list_of_annotations_that_is_none_does_no_harm() -> None:
    for listed in (b"/Annots 5 0 R", b"/Annots [4 0 R 9 0 R (x) null]", b"/Annots [[5 0 R]]"):
        pdf = one_page(text(b"Name:"), b"<< /Annots 5 0 R >>", more=listed)
        assert [word for word, _, _ in words(pdf)] == ["Name:"]

"""How high the letters of a font are, as far as the file says it: fonts embedded here, with heights and without."""

from __future__ import annotations

from pathlib import Path

import pytest

import quire.render
from quire.convert.infrastructure.mappings.sample_pdf import assembled
from quire.reading import open_pdf
from quire.reading.domain.page import Word
from quire.reading.infrastructure.pdfium.font import ASSUMED

FONT = Path(quire.render.__file__).parent / "fonts/liberation-sans/LiberationSans-Regular.ttf"
SIZE = 10
BASELINE = 700


def word_of(ascent: int, descent: int) -> Word:
    font, content = FONT.read_bytes(), b"BT /F1 %d Tf 72 %d Td (Heights) Tj ET" % (SIZE, BASELINE)
    pdf = assembled(
        (
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 800] /Contents 4 0 R "
            b"/Resources << /Font << /F1 5 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            b"<< /Type /Font /Subtype /TrueType /BaseFont /LiberationSans /Encoding /WinAnsiEncoding "
            b"/FontDescriptor 6 0 R >>",
            b"<< /Type /FontDescriptor /FontName /LiberationSans /Flags 32 /FontBBox [-544 -303 1301 980] "
            b"/Ascent %d /Descent %d /FontFile2 7 0 R >>" % (ascent, descent),
            b"<< /Length %d /Length1 %d >>\nstream\n%s\nendstream" % (len(font), len(font), font),
        )
    )
    return open_pdf(pdf, len(pdf), 10).document().pages[0].blocks[0].lines[0].words[0]


def heights(word: Word) -> tuple[float, float]:
    baseline = 800 - BASELINE
    return (baseline - word.top) / SIZE, (baseline - word.bottom) / SIZE


@pytest.mark.parametrize(("ascent", "descent"), [(905, -212), (750, -250), (688, -150)])
def test_letters_are_as_high_as_the_file_says(ascent: int, descent: int) -> None:
    assert heights(word_of(ascent, descent)) == pytest.approx((ascent / 1000, descent / 1000), abs=0.001)


def test_letters_of_a_font_without_heights_have_room_for_accents() -> None:
    assert heights(word_of(0, 0)) == pytest.approx(ASSUMED, abs=0.001)

"""A page that draws what cannot be unpacked is found out, by whom else than the parser that reads it."""

from __future__ import annotations

import zlib

import pytest
from tests.support.hostile import bombs, structures
from tests.support.hostile.parts import CATALOG, FLATE, PAGES, WORDS, form, one_page, page, stream
from tests.unit.convert.samples import sample

from quire.convert.infrastructure.mappings.sample_pdf import assembled, sample_pdf
from quire.reading import PdfDamagedError
from quire.reading.infrastructure.qpdf.wholeness_check import QpdfWholenessCheck

LOST = zlib.compress(WORDS * 100)[:-20]


def check(pdf: bytes, *, page_count: int = 1, is_blank: bool = False) -> None:
    QpdfWholenessCheck(pdf, len(pdf)).check_page(0, page_count, is_blank=is_blank)


def test_a_page_of_which_all_is_there_passes() -> None:
    check(one_page(zlib.compress(WORDS), entries=FLATE))
    check(one_page(zlib.compress(WORDS) + b"\r\n", entries=FLATE))
    check(bombs.filter_chain())
    check(one_page(zlib.compress(WORDS)[:-4], entries=FLATE))
    packer = zlib.compressobj()
    flushed = packer.compress(WORDS) + packer.flush(zlib.Z_SYNC_FLUSH)
    check(one_page(flushed, entries=FLATE))
    check(one_page(flushed + b"\n", entries=FLATE))
    check(one_page(b""), is_blank=True)


@pytest.mark.parametrize("count", [1, 3])
def test_a_stream_that_is_lost_is_noticed_wherever_it_stands_in_a_row(count: int) -> None:
    streams = [stream(WORDS)] * (count - 1) + [stream(LOST, FLATE)]
    named = b" ".join(b"%d 0 R" % (number + 5) for number in range(count))
    with pytest.raises(PdfDamagedError, match="page 1 cannot be unpacked, its bytes end too early"):
        check(assembled((CATALOG, PAGES, page(), b"[%s]" % named, *streams)))


def test_a_form_that_draws_itself_is_looked_at_once() -> None:
    check(structures.form_in_itself())


def test_a_form_inside_a_form_is_looked_at_too() -> None:
    lost = stream(LOST, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] %s" % FLATE)
    outer = form(b"/X Do", b"/XObject << /X 6 0 R >>")
    with pytest.raises(PdfDamagedError, match="end too early"):
        check(one_page(WORDS, outer, lost, resources=b"/XObject << /X 5 0 R >>"))


def test_a_form_that_all_pages_inherit_is_looked_at_too() -> None:
    lost = stream(LOST, b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] %s" % FLATE)
    pages = PAGES.replace(b"/Kids", b"/Resources << /XObject << /X 5 0 R >> >> /Kids")
    leaf = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>"
    with pytest.raises(PdfDamagedError, match="end too early"):
        check(assembled((CATALOG, pages, leaf, stream(b"/X Do"), lost)))


def test_pictures_are_not_what_a_page_says() -> None:
    picture = stream(b"no picture", b"/Type /XObject /Subtype /Image /Filter /JBIG2Decode")
    check(one_page(WORDS, picture, resources=b"/XObject << /X 5 0 R >>"))


def test_a_page_that_is_found_only_once_passes_for_what_was_read_of_it_and_not_for_nothing() -> None:
    for pdf, count in ((sample_pdf(), 2), (structures.doubling_page_tree(), 1)):
        check(pdf, page_count=count)
        with pytest.raises(PdfDamagedError, match="page 1 cannot be followed"):
            check(pdf, page_count=count, is_blank=True)


def damaged(pdf: bytes, kind: bytes) -> bytes:
    """With one bit turned over in the middle of the first stream of that kind."""
    begin = pdf.index(b"stream", pdf.index(b"/Type /" + kind))
    middle = (begin + pdf.index(b"endstream", begin)) // 2
    return pdf[:middle] + bytes([pdf[middle] ^ 4]) + pdf[middle + 1 :]


@pytest.mark.parametrize("kind", [b"ObjStm", b"XRef"])
@pytest.mark.parametrize("name", ["zoo-read", "debian-faq-ru", "texshop"])
def test_a_bit_turned_over_in_what_holds_the_file_together_is_noticed(name: str, kind: bytes) -> None:
    pdf = sample(name)
    QpdfWholenessCheck(pdf, len(pdf)).check_structure()
    broken = damaged(pdf, kind)
    with pytest.raises(PdfDamagedError, match="what holds it together cannot be unpacked"):
        QpdfWholenessCheck(broken, len(broken)).check_structure()


def test_a_bit_turned_over_in_the_letters_of_a_font_is_noticed() -> None:
    pdf = sample("own-contract-en")
    begin = pdf.index(b"stream", pdf.index(b"/Length1"))
    broken = pdf[: begin + 500] + bytes([pdf[begin + 500] ^ 4]) + pdf[begin + 501 :]
    check(pdf)
    with pytest.raises(PdfDamagedError, match="its bytes are damaged"):
        check(broken)


def test_a_page_or_a_file_about_pdfs_is_not_taken_for_one() -> None:
    about = b"7 0 obj << /Type /ObjStm /Length 9 /Filter /FlateDecode >> stream\nno packing\nendstream endobj"
    for pdf in (one_page(WORDS + b"%" + about.replace(b"\n", b" ")), one_page(WORDS, stream(about))):
        QpdfWholenessCheck(pdf, len(pdf)).check_structure()
        check(pdf)


@pytest.mark.parametrize(
    "entries", [b"/Filter /ASCII85Decode", b"/Filter [/A85 /Fl]", FLATE, b"/Filter /LZW"]
)
def test_nothing_packed_in_whatever_way_is_nothing(entries: bytes) -> None:
    check(one_page(b"", entries=entries), is_blank=True)


def test_a_predictor_that_predicts_nothing_is_none() -> None:
    check(one_page(zlib.compress(WORDS), entries=FLATE + b"/DecodeParms << /Predictor 1 >>"))

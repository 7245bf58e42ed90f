"""Which files are whole: what stands after the end is no reason to refuse one, what is missing before it is."""

from __future__ import annotations

import pytest
from tests.unit.convert.samples import sample

from quire.reading import PdfDamagedError, open_pdf

# With a table in words, and with one that is a stream in an object.
NAMES = ("own-contract-en", "zoo-design", "texshop")


def pages(pdf: bytes) -> int:
    return open_pdf(pdf, len(pdf), 1000).page_count


@pytest.mark.parametrize("name", NAMES)
def test_padding_after_the_end_and_a_missing_last_mark_do_no_harm(name: str) -> None:
    whole = sample(name).rstrip()
    assert whole.endswith(b"%%EOF")
    unmarked = whole.removesuffix(b"%%EOF")
    for odd in (whole + bytes(5_000), whole + b" \r\n" * 5_000, unmarked, unmarked + bytes(9_000)):
        assert pages(odd) == pages(whole)
    noise = b"\r\nnoise before the head\r\n"
    assert pages(noise + whole) == pages(whole)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_cut_off_is_refused_also_when_it_was_padded_to_its_size(name: str) -> None:
    whole = sample(name).rstrip()
    pointer = whole.rindex(b"startxref")
    number_cut = whole[: pointer + len(b"startxref\n1")]
    elsewhere = whole[:pointer] + b"startxref\n3\n"
    beyond = whole[:pointer] + b"startxref\n%d\n" % len(whole)
    for cut in (whole[: len(whole) // 2], whole[:pointer], number_cut, elsewhere, beyond):
        for padded in (cut, cut + bytes(len(whole))):
            with pytest.raises(PdfDamagedError, match="its end is missing"):
                pages(padded)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_whose_last_change_was_cut_off_is_refused_and_not_read_as_it_was_before(name: str) -> None:
    whole = sample(name).rstrip()
    change = (
        b"\n9 0 obj\n<< /Changed true >>\nendobj\nxref\n9 1\n0000000000 00000 n \ntrailer\n<< /Size 10 >>\n"
    )
    for cut in (len(change), len(change) // 2, 30):
        with pytest.raises(PdfDamagedError, match="its end is missing"):
            pages(whole + change[:cut])
    assert pages(whole + b"\nno object of a PDF, and no table\n") == pages(whole)

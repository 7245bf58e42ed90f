"""Bytes as Skia lays them out, small enough to read."""

from __future__ import annotations

import pytest

from quire.render.domain.pdf_bytes import (
    PINNED_DATE,
    count_pages,
    deterministic,
    pin_dates,
    renumber_structure_ids,
)

NO_TREE = b"<</Type /Thing>>"


def pdf_of(*, date: bytes = b"20260102030405", title: bytes = b"Invoice", extra: bytes = NO_TREE) -> bytes:
    """Objects: 1 information, 2 page tree, 3 catalog, 4 anything."""
    bodies = (
        b"<</Title (%b)\n/Creator (Chromium)\n/CreationDate (D:%b+00'00')\n/ModDate (D:%b+00'00')>>"
        % (title, date, date),
        b"<</Type /Pages\n/Count 17\n/Kids [5 0 R]>>",
        b"<</Type /Catalog\n/Pages 2 0 R>>",
        extra,
    )
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(bodies, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    tail = b"trailer\n<</Size %d\n/Root 3 0 R\n/Info 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (
        len(bodies) + 1,
        len(out),
    )
    return out + head + table + tail


def tagged(*ids: int) -> bytes:
    cells = b" ".join(b"<</Type /StructElem /ID (node%08d)>>" % number for number in ids)
    headers = b" ".join(b"(node%08d)" % number for number in ids)
    first, last = min(ids), max(ids)
    return b"<</Type /StructTreeRoot /K [%b]\n/Headers [%b]\n/Limits [(node%08d) (node%08d)]>>" % (
        cells,
        headers,
        first,
        last,
    )


def test_both_dates_become_the_pinned_one_and_no_byte_moves() -> None:
    before = pdf_of()
    after = pin_dates(before)
    assert after.count(PINNED_DATE) == 2
    assert len(after) == len(before)
    assert count_pages(after) == 17


def test_two_documents_that_differ_in_their_dates_become_equal() -> None:
    assert pin_dates(pdf_of(date=b"20260102030405")) == pin_dates(pdf_of(date=b"20991231235959"))


def test_a_date_in_the_title_stays_the_authors() -> None:
    title = rb"D:20260102030405+00'00' /CreationDate \(D:20260102030405+00'00'\)"
    assert title in pin_dates(pdf_of(title=title))


def test_a_title_longer_than_any_buffer_does_not_hide_the_dates() -> None:
    assert pin_dates(pdf_of(title=b"x" * 100_000)).count(PINNED_DATE) == 2


def test_structure_ids_are_numbered_by_rank_wherever_they_stand() -> None:
    assert renumber_structure_ids(pdf_of(extra=tagged(59, 12, 700))) == pdf_of(extra=tagged(2, 1, 3))


def test_documents_of_a_reused_page_become_equal_to_those_of_a_fresh_one() -> None:
    fresh = pdf_of(extra=tagged(7, 9), date=b"20260102030405")
    reused = pdf_of(extra=tagged(1007, 1009), date=b"20260102030506")
    assert deterministic(fresh) == deterministic(reused)


def test_text_that_looks_like_an_id_stays_the_authors() -> None:
    extra = tagged(59) + b"\n/Alt (node00000059) /T (/ID \\(node00000059\\))"
    after = renumber_structure_ids(pdf_of(extra=extra))
    assert b"/Alt (node00000059)" in after
    assert b"/ID \\(node00000059\\)" in after
    assert b"/ID (node00000001)" in after


def test_an_untagged_document_is_left_as_it_is() -> None:
    before = pdf_of(extra=b"<</Alt (node00000009) /ID (node00000009)>>")
    assert renumber_structure_ids(before) is before


def test_pages_are_counted_in_the_tree_and_not_in_the_text() -> None:
    assert count_pages(pdf_of(title=b"/Type /Pages /Count 99999")) == 17


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4\n", b"not a pdf" * 1000])
def test_bytes_that_skia_did_not_write_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="where Chromium writes it"):
        count_pages(data)
    with pytest.raises(ValueError, match="where Chromium writes it"):
        deterministic(data)


def test_a_table_that_points_past_its_end_is_refused() -> None:
    with pytest.raises(ValueError, match="cross-reference"):
        count_pages(pdf_of().replace(b"/Root 3 0 R", b"/Root 9 0 R"))

"""Pages of odd sizes and turns, and pages with nothing on them."""

from __future__ import annotations

from tests.support.hostile.parts import CATALOG, WORDS, one_page

from quire.convert.infrastructure.mappings.sample_pdf import assembled


def huge_box() -> bytes:
    return one_page(WORDS, box=b"-999999999999 -999999999999 999999999999 999999999999")


def endless_box() -> bytes:
    return one_page(WORDS, box=b"-" + b"9" * 400 + b" 0 " + b"9" * 400 + b" 842")


def reversed_box() -> bytes:
    return one_page(WORDS, box=b"595 842 0 0")


def box_with_exponents() -> bytes:
    return one_page(WORDS, box=b"0 0 5.95e2 8.42E2")


def box_of_no_numbers() -> bytes:
    return one_page(WORDS, box=b"nan nan inf -inf")


def box_without_area() -> bytes:
    return one_page(WORDS, box=b"0 0 0 0")


def box_with_huge_unit() -> bytes:
    return one_page(WORDS, more=b"/UserUnit 1000000000")


def blank_pages() -> bytes:
    blank = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>"
    return assembled((CATALOG, b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>", blank, blank))


def turned_by_45() -> bytes:
    return one_page(WORDS, more=b"/Rotate 45")


def turned_by_minus_90() -> bytes:
    return one_page(WORDS, more=b"/Rotate -90")


def turned_by_450() -> bytes:
    return one_page(WORDS, more=b"/Rotate 450")


def turned_without_end() -> bytes:
    return one_page(WORDS, more=b"/Rotate 99999999999999999999")

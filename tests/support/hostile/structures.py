"""PDFs whose structure leads in circles, nowhere, or elsewhere."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from tests.support.hostile.parts import (
    CATALOG,
    FLATE,
    HELVETICA,
    MIB,
    PAGES,
    WORDS,
    deflated,
    form,
    one_page,
    page,
    stream,
    text,
)
from tests.unit.convert.samples import sample

from quire.convert.infrastructure.mappings.sample_pdf import assembled, sample_pdf


def truncated() -> bytes:
    whole = sample("zoo-design")
    return whole[: len(whole) // 2]


def nothing() -> bytes:
    return b""


def header_alone() -> bytes:
    return b"%PDF-1.7\n%%EOF\n"


def not_a_pdf() -> bytes:
    return b"PK\x03\x04" + b"\x00" * 4096


def noise() -> bytes:
    return b"%PDF-1.7\n" + bytes(range(256)) * 400 + b"\n%%EOF"


def damaged_table() -> bytes:
    return sample_pdf().replace(b"/Type /Pages", b"/Type /Cages").replace(b"/Kids", b"/Kins")


def without_pages() -> bytes:
    return assembled((CATALOG, b"<< /Type /Pages /Kids [] /Count 0 >>"))


def circular_pages() -> bytes:
    return assembled((CATALOG, b"<< /Type /Pages /Kids [2 0 R] /Count 1 /Parent 2 0 R >>"))


def circular_catalog() -> bytes:
    return assembled((b"<< /Type /Catalog /Pages 1 0 R >>",))


def claimed_pages() -> bytes:
    """A count of pages that there are not."""
    return assembled((CATALOG, b"<< /Type /Pages /Kids [3 0 R] /Count 2000000000 >>", page(), stream(WORDS)))


def real_pages() -> bytes:
    """A hundred thousand, each an object of its own."""
    kids = b" ".join(b"%d 0 R" % number for number in range(3, 100_003))
    pages = [b"<</Type/Page/Parent 2 0 R>>"] * 100_000
    return assembled((CATALOG, b"<< /Type /Pages /Kids [%s] /Count 100000 >>" % kids, *pages))


def deep_page_tree(levels: int = 20_000) -> bytes:
    branches = [
        b"<< /Type /Pages /Kids [%d 0 R] /Count 1 /Parent %d 0 R >>" % (n + 1, n - 1)
        for n in range(3, levels)
    ]
    leaf = b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 9 9] >>" % (levels - 1)
    return assembled((CATALOG, PAGES, *branches, leaf))


def doubling_page_tree() -> bytes:
    """Forty levels, each of which holds the next one twice."""
    branches = [
        b"<< /Type /Pages /Kids [%d 0 R %d 0 R] /Count %d >>" % (n + 1, n + 1, 2) for n in range(2, 42)
    ]
    return assembled((CATALOG, *branches, b"<< /Type /Page /Parent 41 0 R /MediaBox [0 0 9 9] >>"))


def circular_contents() -> bytes:
    return assembled((CATALOG, PAGES, page(), b"[4 0 R 4 0 R]"))


def half_a_page() -> bytes:
    packed = zlib.compress(WORDS * 1000)
    return one_page(packed[: len(packed) // 2], entries=FLATE)


def damaged_half_a_page() -> bytes:
    """Words, and then bits that unpack to nothing."""
    packer = zlib.compressobj()
    words = packer.compress(WORDS) + packer.flush(zlib.Z_FULL_FLUSH)
    return one_page(words + b"\xff" * 100, entries=FLATE)


def page_with_wrong_checksum() -> bytes:
    return one_page(zlib.compress(WORDS)[:-4] + b"\0\0\0\0", entries=FLATE)


def page_without_checksum() -> bytes:
    return one_page(zlib.compress(WORDS)[:-4], entries=FLATE)


def half_a_page_inside_a_whole_one() -> bytes:
    """The outer packing is all there."""
    packed = zlib.compress(WORDS * 1000)
    inner = packed[: len(packed) // 2].hex().encode() + b">"
    return one_page(inner, entries=b"/Filter [/ASCIIHexDecode /FlateDecode]")


def hex_without_end() -> bytes:
    return one_page(WORDS.hex().encode(), entries=b"/Filter /ASCIIHexDecode")


def contents_in_part_not_there() -> bytes:
    return assembled((CATALOG, PAGES, page(), b"[5 0 R 9 0 R]", stream(WORDS)))


def contents_at_another_place() -> bytes:
    """The table says where they are, and there is something else."""
    return one_page(WORDS).replace(b"4 0 obj", b"x 0 obj")


def letters_whose_meaning_is_lost() -> bytes:
    meaning = zlib.compress(b"1 beginbfchar <41> <0042> endbfchar " * 100)
    font = HELVETICA.replace(b">>", b"/ToUnicode 5 0 R >>")
    return one_page(WORDS, stream(meaning[:-20], FLATE), font=font)


def unpacked_only_by_others() -> bytes:
    return one_page(zlib.compress(WORDS), entries=b"/Filter [/Crypt /FlateDecode]")


def change_cut_off() -> bytes:
    """A second version was appended, and lost its end: what is whole is the first."""
    first = one_page(WORDS)
    return first + b"4 0 obj\n" + stream(text(b"Read this")) + b"\nendobj\nxref\n4 1\n0000"


def contents_that_are_not_there() -> bytes:
    return assembled((CATALOG, PAGES, page().replace(b"4 0 R", b"9 0 R")))


def contents_of_no_bytes() -> bytes:
    return one_page(b"", entries=FLATE)


def circular_length() -> bytes:
    return assembled((CATALOG, PAGES, page(), b"<< /Length 4 0 R >>\nstream\n%s\nendstream" % WORDS))


def form_in_itself() -> bytes:
    itself = b"/XObject << /X 5 0 R >>"
    return one_page(b"/X Do", form(b"/X Do /X Do", itself), resources=itself)


def deep_arrays() -> bytes:
    return one_page(WORDS, b"[" * 400_000 + b"]" * 400_000, more=b"/Deep 5 0 R")


def deep_operands() -> bytes:
    deep = stream(zlib.compress(b"[" * (16 * MIB)), FLATE)
    return assembled((CATALOG, PAGES, page(), b"[5 0 R 6 0 R]", stream(WORDS), deep))


def circular_tables() -> bytes:
    """The table before the last is the last."""
    plain = one_page(WORDS)
    place = int(plain.rsplit(b"startxref\n", 1)[1].split()[0])
    return plain.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %d" % place)


def circular_table_streams() -> bytes:
    """Two tables in streams, each before the other."""
    body, rows = _without_table(one_page(WORDS))
    first = len(body)
    second = first + len(_table_stream(rows, first, before=0))
    streams = _table_stream(rows, first, before=second) + _table_stream(rows, second, before=first)
    return body + streams + b"startxref\n%d\n%%%%EOF\n" % second


def store_in_itself() -> bytes:
    """An object stream that lies in itself, says its table, and extends itself."""
    return _with_store(stream(b"5 0 << >>", b"/Type /ObjStm /N 1 /First 4 /Extends 5 0 R"), held_by=5)


def bomb_as_store() -> bytes:
    """An object stream that holds the font of the page, and three gigabytes."""
    packed = deflated(b"6 0 %s" % HELVETICA + b" " * MIB, 3000)
    return _with_store(stream(packed, b"/Type /ObjStm /N 1 /First 4 %s" % FLATE), held_by=6)


def _with_store(store: bytes, held_by: int) -> bytes:
    """Object 5 is the store; the page's font is its first object, or the store itself."""
    body, rows = _without_table(one_page(WORDS, store, font=b"%d 0 R" % held_by))
    if held_by == 5:
        rows.pop()
    rows.append(struct.pack(">BIB", 2, 5, 0))
    table = len(body)
    return body + _table_stream(rows, table) + b"startxref\n%d\n%%%%EOF\n" % table


def _without_table(plain: bytes) -> tuple[bytes, list[bytes]]:
    """The objects, and where each begins as a row of a table in a stream."""
    body, _, table = plain.partition(b"xref\n0 ")
    places = [int(row[:10]) for row in table.splitlines()[2:] if row.endswith(b" n ")]
    return body, [b"\0" * 6, *(struct.pack(">BIB", 1, place, 0) for place in places)]


def _table_stream(rows: list[bytes], own: int, before: int | None = None) -> bytes:
    entries = b"/Type /XRef /Size %d /W [1 4 1] /Root 1 0 R" % (len(rows) + 1)
    if before is not None:
        entries += b" /Prev %010d" % before
    said = b"".join([*rows, struct.pack(">BIB", 1, own, 0)])
    return b"%d 0 obj\n%s\nendobj\n" % (len(rows), stream(said, entries))


def with_archive_behind() -> bytes:
    """A PDF to one reader and a ZIP to another."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("secret.txt", "zipped words")
    return one_page(WORDS) + archive.getvalue()


def with_archive_around() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("a.pdf", one_page(WORDS))
    return archive.getvalue()


def with_page_of_html_before() -> bytes:
    return b"<html><script>alert(1)</script><!--\n" + one_page(WORDS) + b"--></html>\n"

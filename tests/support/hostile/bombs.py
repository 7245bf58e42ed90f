"""PDFs that are little and become much."""

from __future__ import annotations

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
)

from quire.convert.infrastructure.mappings.sample_pdf import assembled

RUNS = b"/RunLengthDecode"
ROW = b"/Predictor 12 /Colors 32 /BitsPerComponent 16 /Columns 2147483647"
PREDICTOR = b"%s /DecodeParms << %s >>" % (FLATE, ROW)
JBIG2_HEAD = bytes.fromhex("00000000 30 00 01 00000013 FFFFFFFF FFFFFFFF 00000000 00000000 00 0000")


def flate_bomb() -> bytes:
    """A content stream of three gigabytes in three megabytes."""
    return one_page(deflated(b" " * MIB, 3000), entries=FLATE)


def nested_flate_bomb() -> bytes:
    inner = zlib.compress(deflated(b"q " * (MIB // 2), 2000))
    return one_page(inner, entries=b"/Filter [/FlateDecode /FlateDecode]")


def lzw_bomb() -> bytes:
    """Six gigabytes: once its table is full, each code of twelve bits stands for 3838 blanks."""
    codes = [256, 32, *range(258, 4095)]
    bits = "".join(f"{code:0{max(9, (code + 1).bit_length())}b}" for code in codes)
    bits += "1" * (-len(bits) % 24)
    full = int(bits, 2).to_bytes(len(bits) // 8, "big")
    longest = int(f"{4094:012b}" * 2, 2).to_bytes(3, "big")
    return one_page(full + longest * 800_000, entries=b"/Filter /LZWDecode")


def run_length_bomb() -> bytes:
    """A byte that says of itself that it comes 128 times, four times over."""
    return one_page(b"\x81" * MIB, entries=b"/Filter [%s]" % (RUNS * 4))


def run_length_page() -> bytes:
    """Thirty megabytes of drawing, which parsers give up half way."""
    words = bytes([len(WORDS) - 1]) + WORDS
    return one_page(words + b"\x81 " * 240_000 + b"\x80", entries=b"/Filter %s" % RUNS)


def repeated_contents() -> bytes:
    """One megabyte, to be read a hundred thousand times."""
    parts = stream(deflated(b"q Q " * (MIB // 4), 1), FLATE)
    return assembled((CATALOG, PAGES, page(), b"[%s]" % (b"5 0 R " * 100_000), parts))


def laughing_forms() -> bytes:
    """Twelve forms, each of which draws the next one ten times."""
    forms = [form(b"/X Do " * 10, b"/XObject << /X %d 0 R >>" % (number + 1)) for number in range(5, 17)]
    last = form(WORDS, b"/Font << /F1 %s >>" % HELVETICA)
    return one_page(b"/X Do", *forms, last, resources=b"/XObject << /X 5 0 R >>")


def endless_text() -> bytes:
    """Forty million letters on one page."""
    opened = stream(zlib.compress(b"BT /F1 1 Tf 10 10 Td\n"), FLATE)
    letters = stream(deflated(b"(" + b"abcdefghi " * 4000 + b") Tj\n", 1000), FLATE)
    return assembled((CATALOG, PAGES, page(), b"[5 0 R 6 0 R]", opened, letters))


def filter_chain() -> bytes:
    data = WORDS
    for _ in range(12):
        data = data.hex().encode() + b">"
    return one_page(data, entries=b"/Filter [%s]" % (b"/ASCIIHexDecode" * 12))


def filter_chain_of_thousands() -> bytes:
    """Which nobody follows."""
    return one_page(WORDS, entries=b"/Filter [%s]" % (b"/ASCII85Decode /ASCIIHexDecode" * 50_000))


def ascii85_bomb() -> bytes:
    """`z` is four zeros."""
    return one_page(deflated(b"z" * MIB, 1000), entries=b"/Filter [/FlateDecode /ASCII85Decode]")


def predictor_bomb() -> bytes:
    return one_page(zlib.compress(WORDS), entries=PREDICTOR)


def predictor_bomb_behind_text() -> bytes:
    """Half of the page is there."""
    streams = stream(WORDS), stream(zlib.compress(WORDS), PREDICTOR)
    return assembled((CATALOG, PAGES, page(), b"[5 0 R 6 0 R]", *streams))


def predictor_bomb_in_form() -> bytes:
    """The words of the page are, and those of what it draws with are not."""
    entries = b"/Type /XObject /Subtype /Form /BBox [0 0 595 842] %s" % PREDICTOR
    inner = stream(zlib.compress(WORDS), entries)
    outer = form(b"/X Do", b"/XObject << /X 6 0 R >>")
    return one_page(WORDS + b"/X Do", outer, inner, resources=b"/XObject << /X 5 0 R >>")


def filters_of_no_name() -> bytes:
    return one_page(WORDS, entries=b"/Filter [4 0 R (FlateDecode)]")


def filter_of_no_one() -> bytes:
    return one_page(WORDS, entries=b"/Filter /Nonsense")


def huge_image() -> bytes:
    size = b"/Width 2000000000 /Height 2000000000 /BitsPerComponent 8 /ColorSpace /DeviceRGB"
    return _with_image(stream(b"\0", b"/Type /XObject /Subtype /Image %s" % size))


def huge_inline_image() -> bytes:
    drawn = b"BI /W 200000 /H 200000 /BPC 8 /CS /RGB /F /Fl ID %s\nEI\n" % deflated(b"\0" * MIB, 900)
    return one_page(drawn + WORDS)


def absurd_jbig2() -> bytes:
    """A picture of 4294967295 by 4294967295, by its own head too."""
    size = b"/Width 4294967295 /Height 4294967295 /BitsPerComponent 1 /ColorSpace /DeviceGray"
    return _with_image(stream(JBIG2_HEAD, b"/Type /XObject /Subtype /Image /Filter /JBIG2Decode %s" % size))


def _with_image(image: bytes) -> bytes:
    return one_page(b"/I Do\n" + WORDS, image, resources=b"/XObject << /I 5 0 R >>")


def picture_as_text() -> bytes:
    return one_page(JBIG2_HEAD, entries=b"/Filter /JBIG2Decode /Width 4294967295 /Height 4294967295")

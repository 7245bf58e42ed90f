"""Pages whose text is hard to read, means nothing, or costs more than it says."""

from __future__ import annotations

import random

from tests.support.hostile.parts import HELVETICA, WORDS, one_page, stream, text


def _mapped_to(codes: bytes) -> bytes:
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 5 0 R >>"
    cmap = b"begincmap\n1 begincodespacerange <00> <FF> endcodespacerange\n%s\nendcmap" % codes
    return one_page(WORDS, stream(cmap), font=font)


def text_of_no_character() -> bytes:
    rows = b"\n".join(b"<%02X> <FFFD>" % code for code in range(33, 127))
    return _mapped_to(b"94 beginbfchar\n%s\nendbfchar" % rows)


def text_of_private_characters() -> bytes:
    return _mapped_to(b"1 beginbfrange\n<21> <7E> <E021>\nendbfrange")


def text_of_glyph_names() -> bytes:
    return one_page(text(b"GLYPH<12>GLYPH<cmap:df00>"))


def text_of_commands() -> bytes:
    """Characters that XML may not hold, or that would turn around what follows."""
    rows = b"\n".join(
        b"<%02X> <%04X>" % pair for pair in zip(b"Readm", (0, 11, 0x202E, 0xFFFF, 0xD800), strict=True)
    )
    return _mapped_to(b"5 beginbfchar\n%s\nendbfchar" % rows)


def endless_character_map() -> bytes:
    return _mapped_to(b"1000 beginbfrange\n%s\nendbfrange" % (b"<00000000> <FFFFFFFF> <0041>\n" * 1000))


def long_characters() -> bytes:
    return _mapped_to(b"1 beginbfchar\n<65> <%s>\nendbfchar\n" % (b"0041" * 1_000_000))


def invisible_text() -> bytes:
    return one_page(text(b"Seen") + b"BT 3 Tr /F1 12 Tf 72 600 Td (unseen) Tj ET")


def character_map_elsewhere() -> bytes:
    """Named as files of ours are."""
    elsewhere = b"/..#2F..#2F..#2F..#2Fetc#2Fpasswd"
    cmap = stream(
        b"%s usecmap begincmap endcmap" % elsewhere, b"/Type /CMap /CMapName /X /UseCMap " + elsewhere
    )
    system = b"/CIDSystemInfo << /Registry (..) /Ordering (/../../etc/passwd) /Supplement 0 >>"
    child = b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X %s >>" % system
    wide = b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding %s /DescendantFonts [6 0 R] /ToUnicode 5 0 R >>"
    fonts = b"%s /F2 %s /F3 %s" % (wide % elsewhere, wide % b"5 0 R", HELVETICA)
    drawn = (
        b"BT /F1 12 Tf 72 700 Td <0041> Tj /F2 12 Tf 0 -20 Td <0042> Tj /F3 12 Tf 0 -20 Td (Read me) Tj ET"
    )
    return one_page(drawn, cmap, child, font=fonts)


def font_that_draws_itself() -> bytes:
    font = (
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1000 1000] /FontMatrix [0.001 0 0 0.001 0 0] /FirstChar 65"
        b" /LastChar 65 /Widths [1000] /Encoding << /Differences [65 /A] >> /CharProcs << /A 5 0 R >>"
        b" /Resources << /Font << /F1 6 0 R >> >> >>"
    )
    glyph = stream(b"1000 0 d0 BT /F1 1000 Tf (AAAAAAAAAA) Tj ET")
    return one_page(text(b"AAAA"), glyph, font, font=b"6 0 R")


def font_with_huge_widths() -> bytes:
    """So wide that the last letter is off the page."""
    widths = b"/FirstChar 0 /LastChar 2147483647 /Widths [%s]" % (b"99999999999 " * 300_000)
    return one_page(WORDS, font=b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica %s >>" % widths)


def font_with_endless_widths() -> bytes:
    widths = b"/W [%s] /W2 [%s]" % (b"0 2147483647 500 " * 100_000, b"0 2147483647 1 2 3 " * 100_000)
    system = b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
    child = b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X %s %s >>" % (system, widths)
    font = b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [5 0 R] >>"
    return one_page(b"BT /F1 12 Tf 72 700 Td <00410042> Tj ET", child, font=font)


def scattered_words() -> bytes:
    chance = random.Random(1)
    places = [(chance.uniform(0, 560), chance.uniform(0, 830)) for _ in range(4000)]
    return one_page(b"".join(text(b"w%d" % number, x, y, size=4) for number, (x, y) in enumerate(places)))


def pairs_of_lines() -> bytes:
    """Cells of two lines each, with no empty stripe between their rows."""
    chance = random.Random(2)
    places = [(20 * (number % 28), chance.uniform(10, 800)) for number in range(2000)]
    return one_page(
        b"".join(b"BT /F1 5 Tf %g %g Td (ab) Tj 0 -6 Td (cd) Tj ET\n" % place for place in places)
    )


def words_among_lines() -> bytes:
    """As many words and lines as are still looked at for tables side by side."""
    chance = random.Random(3)
    lines = [(chance.randrange(300), 2.8 * number, chance.randrange(20, 250)) for number in range(290)]
    drawn = b"".join(b"%d %g m %d %g l S\n" % (x, y, x + width, y) for x, y, width in lines)
    places = [(chance.uniform(0, 590), chance.uniform(0, 840)) for _ in range(499)]
    return one_page(drawn + b"".join(text(b"w", x, y, size=1) for x, y in places))


def thousands_of_lines() -> bytes:
    lines = [(number % 500, number % 842) for number in range(200_000)]
    drawn = b"".join(b"%d %d m %d %d l S\n" % (x, y, x + 60, y) for x, y in lines)
    return one_page(drawn + text(b"left", 72) + text(b"right", 400))

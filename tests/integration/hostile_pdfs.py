"""PDFs that mean no good, each made here. `REFUSED` must be refused; `HARMLESS` may be read, and gives nothing away."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable

from pypdf import PdfWriter
from tests.unit.convert.samples import sample

from quire.convert.infrastructure.mappings.sample_pdf import assembled, sample_pdf

FONT = b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
MIB = 1024 * 1024


def page(more: bytes = b"/Contents 4 0 R", box: bytes = b"0 0 595 842") -> bytes:
    return b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] %s %s >>" % (box, FONT, more)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def deflated(unit: bytes, times: int) -> bytes:
    """As much as wanted out of a little: one block, packed once, said again and again. Its checksum is wrong, which a
    reader learns when it has unpacked everything."""
    packer = zlib.compressobj(6)
    first = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * (times - 1) + packer.flush()


def encrypted() -> bytes:
    writer, out = PdfWriter(), io.BytesIO()
    writer.add_blank_page(595, 842)
    writer.encrypt("a password", algorithm="AES-256")
    writer.write(out)
    return out.getvalue()


def truncated() -> bytes:
    whole = sample("zoo-design")
    return whole[: len(whole) // 2]


def without_pages() -> bytes:
    return assembled((CATALOG, b"<< /Type /Pages /Kids [] /Count 0 >>"))


def circular_pages() -> bytes:
    return assembled((CATALOG, b"<< /Type /Pages /Kids [2 0 R] /Count 1 /Parent 2 0 R >>"))


def circular_catalog() -> bytes:
    return assembled((b"<< /Type /Catalog /Pages 1 0 R >>",))


def claimed_pages() -> bytes:
    """A count of pages that there are not."""
    return assembled((CATALOG, b"<< /Type /Pages /Kids [3 0 R] /Count 2000000000 >>", page(), stream(b"")))


def real_pages() -> bytes:
    """More pages than are read, for real."""
    kids = b" ".join([b"3 0 R"] * 6000)
    return assembled((CATALOG, b"<< /Type /Pages /Kids [%s] /Count 6000 >>" % kids, page(), stream(b"")))


def flate_bomb() -> bytes:
    """A content stream of three gigabytes in three megabytes."""
    return assembled((CATALOG, PAGES, page(), stream(deflated(b" " * MIB, 3000), b"/Filter /FlateDecode")))


def nested_flate_bomb() -> bytes:
    inner = zlib.compress(deflated(b"q " * (MIB // 2), 2000))
    chain = b"/Filter [/FlateDecode /FlateDecode]"
    return assembled((CATALOG, PAGES, page(), stream(inner, chain)))


def endless_text() -> bytes:
    """Forty million letters on one page."""
    text = deflated(b"(" + b"abcdefghi " * 4000 + b") Tj\n", 1000)
    opened = zlib.compress(b"BT /F1 1 Tf 10 10 Td\n")
    parts = b"/Contents [4 0 R 5 0 R]"
    flate = b"/Filter /FlateDecode"
    return assembled((CATALOG, PAGES, page(parts), stream(opened, flate), stream(text, flate)))


def deep_arrays() -> bytes:
    return assembled(
        (CATALOG, PAGES, page(b"/Contents 4 0 R /Deep 5 0 R"), stream(b""), b"[" * 400_000 + b"]" * 400_000)
    )


def deep_operands() -> bytes:
    return assembled((CATALOG, PAGES, page(), stream(deflated(b"[" * MIB, 64), b"/Filter /FlateDecode")))


def circular_contents() -> bytes:
    return assembled((CATALOG, PAGES, page(), b"[4 0 R 4 0 R]"))


def circular_length() -> bytes:
    return assembled((CATALOG, PAGES, page(), b"<< /Length 4 0 R >>\nstream\nBT ET\nendstream"))


def form_in_itself() -> bytes:
    form = stream(
        b"/X Do /X Do",
        b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 5 0 R >> >>",
    )
    body = b"/Contents 4 0 R /Resources << /XObject << /X 5 0 R >> >>"
    return assembled(
        (
            CATALOG,
            PAGES,
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] %s >>" % body,
            stream(b"/X Do"),
            form,
        )
    )


def huge_box() -> bytes:
    text = stream(b"BT /F1 12 Tf 100 100 Td (wide) Tj ET")
    return assembled(
        (CATALOG, PAGES, page(box=b"-999999999999 -999999999999 999999999999 999999999999"), text)
    )


def form_with_entities() -> bytes:
    """An XFA form whose XML asks for a file of ours."""
    xfa = b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/">&f;</xdp:xdp>'
    catalog = b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /XFA 5 0 R /Fields [] >> /NeedsRendering true >>"
    return assembled((catalog, PAGES, page(), stream(b"BT /F1 12 Tf 10 10 Td (form) Tj ET"), stream(xfa)))


def header_alone() -> bytes:
    return b"%PDF-1.7\n%%EOF\n"


def not_a_pdf() -> bytes:
    return b"PK\x03\x04" + b"\x00" * 4096


def noise() -> bytes:
    return b"%PDF-1.7\n" + bytes(range(256)) * 400 + b"\n%%EOF"


def damaged_table() -> bytes:
    return sample_pdf().replace(b"/Type /Pages", b"/Type /Cages").replace(b"/Kids", b"/Kins")


REFUSED: tuple[Callable[[], bytes], ...] = (
    encrypted,
    truncated,
    without_pages,
    circular_pages,
    real_pages,
    flate_bomb,
    nested_flate_bomb,
    endless_text,
    header_alone,
    not_a_pdf,
    noise,
)
HARMLESS: tuple[Callable[[], bytes], ...] = (
    circular_catalog,
    claimed_pages,
    damaged_table,
    deep_arrays,
    deep_operands,
    circular_contents,
    circular_length,
    form_in_itself,
    huge_box,
    form_with_entities,
)

"""What hostile PDFs are put together from."""

from __future__ import annotations

import zlib

from quire.convert.infrastructure.mappings.sample_pdf import assembled

HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
FLATE = b"/Filter /FlateDecode"
A4 = b"0 0 595 842"
MIB = 1024 * 1024


def one_page(
    content: bytes,
    *others: bytes,
    catalog: bytes = CATALOG,
    entries: bytes = b"",
    more: bytes = b"",
    font: bytes = HELVETICA,
    resources: bytes = b"",
    box: bytes = A4,
) -> bytes:
    """`entries` are of the content's stream, `more` of the page; `others` are objects from 5 on."""
    return assembled((catalog, PAGES, page(more, font, resources, box), stream(content, entries), *others))


def page(more: bytes = b"", font: bytes = HELVETICA, resources: bytes = b"", box: bytes = A4) -> bytes:
    held = b"/Font << /F1 %s >> %s" % (font, resources)
    return b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 4 0 R /Resources << %s >> %s >>" % (
        box,
        held,
        more,
    )


def form(content: bytes, resources: bytes) -> bytes:
    return stream(
        content, b"/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << %s >>" % resources
    )


def text(words: bytes, x: float = 72, y: float = 700, size: float = 12) -> bytes:
    return b"BT /F1 %g Tf %g %g Td (%s) Tj ET\n" % (size, x, y, words)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def deflated(unit: bytes, times: int) -> bytes:
    """As much as wanted out of a little: one block, packed once, said again and again. Its checksum is wrong, which a
    reader learns when it has unpacked everything."""
    packer = zlib.compressobj(6)
    first = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * (times - 1) + packer.flush()


WORDS = text(b"Read me")

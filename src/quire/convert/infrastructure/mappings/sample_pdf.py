"""A page of a few words, to try the way from PDF to XML with."""

from __future__ import annotations

TEXT = (
    b"BT /F1 18 Tf 72 760 Td (Part 1. General) Tj"
    b" 0 -30 Td /F1 11 Tf (Article 1. Words broken by a hy-) Tj 0 -14 Td (phen) Tj ET"
)
OBJECTS = (
    b"<< /Type /Catalog /Pages 2 0 R >>",
    b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
    b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
    b"<< /Length %d >>\nstream\n%s\nendstream" % (len(TEXT), TEXT),
)


def sample_pdf() -> bytes:
    return assembled(OBJECTS)


def assembled(objects: tuple[bytes, ...]) -> bytes:
    """Numbered from 1, the first is the catalog."""
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)

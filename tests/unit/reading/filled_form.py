"""Pages that somebody wrote onto."""

from __future__ import annotations

from tests.support.hostile.parts import CATALOG, HELVETICA, one_page, stream, text

FORM = b"/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /F1 %s >> >>" % HELVETICA
WRITTEN = text(b"Jane Doe", x=2, y=6)


def page_with(annotation: bytes, *, look: bytes | None = None) -> bytes:
    """A label, and right of it what the annotation shows."""
    shown = stream(WRITTEN, FORM) if look is None else look
    placed = b"<< /Type /Annot /Rect [120 694 320 714] /AP << /N 6 0 R >> %s >>" % annotation
    return one_page(text(b"Name:", x=72, y=700), placed, shown, more=b"/Annots [5 0 R]")


FIELD = b"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (%s) /DA (/F1 12 Tf 0 g) /Rect [120 694 320 714] %s >>"


def form_with(value: bytes, *, look: bytes = b"", drawn: bytes = b"") -> bytes:
    """A field with a value, and the look that the file has for it, if any; `drawn` is what the page itself shows."""
    fields = (
        b"/AcroForm << /Fields [5 0 R] /NeedAppearances true /DR << /Font << /F1 %s >> >> /DA (/F1 12 Tf) >>"
    )
    return one_page(
        text(b"Name:", x=72, y=700) + drawn,
        FIELD % (value, b"/AP << /N 6 0 R >>" if look else b""),
        stream(look, FORM),
        catalog=CATALOG[:-2] + fields % HELVETICA + b">>",
        more=b"/Annots [5 0 R]",
    )

"""What people wrote onto a page: fields they filled in, notes they typed, stamps. It lies beside what the page itself
draws; a viewer shows both, and a reader of the page's own contents has neither the name nor the sum in a form."""

from __future__ import annotations

from typing import Any

import pypdfium2_raw as raw

WRITTEN = (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_STAMP)
UNSEEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW


def is_written_on(page: Any) -> bool:
    return any(
        kind in WRITTEN and not flags & UNSEEN
        for kind, flags in (_looks(page, number) for number in range(raw.FPDFPage_GetAnnotCount(page)))
    )


def draw_annotations(page: Any) -> None:
    """Into the contents of the page, in memory; seen when it is loaded again. PDFium would draw those too that are only
    there to be printed."""
    for number in reversed(range(raw.FPDFPage_GetAnnotCount(page))):
        if _looks(page, number)[1] & UNSEEN:
            raw.FPDFPage_RemoveAnnot(page, number)
    raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)


def _looks(page: Any, number: int) -> tuple[int, int]:
    """Kind and flags; of what is no annotation, none."""
    annotation = raw.FPDFPage_GetAnnot(page, number)
    if not annotation:
        return raw.FPDF_ANNOT_UNKNOWN, 0
    try:
        return raw.FPDFAnnot_GetSubtype(annotation), raw.FPDFAnnot_GetFlags(annotation)
    finally:
        raw.FPDFPage_CloseAnnot(annotation)

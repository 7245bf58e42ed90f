"""What people wrote onto a page: fields they filled in, notes they typed, stamps. It lies beside what the page itself
draws; a viewer shows both, and a reader of the page's own contents has neither the name nor the sum in a form."""

from __future__ import annotations

from typing import Any

import pypdfium2_raw as raw

WRITTEN = (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT, raw.FPDF_ANNOT_STAMP)
UNSEEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW


class FormFiller:
    """Gives the fields of a document the looks that viewers give them: a file may have their values alone, or the looks
    of former values."""

    def __init__(self, document: Any) -> None:
        # Read by PDFium for as long as the form is there. It names nobody to call back.
        self._info = raw.FPDF_FORMFILLINFO(version=2)
        self._form = raw.FPDFDOC_InitFormFillEnvironment(document, self._info)

    def draw_annotations(self, page: Any) -> None:
        """Into the contents of the page, in memory; seen when it is loaded again."""
        raw.FORM_OnAfterLoadPage(page, self._form)
        for number in reversed(range(raw.FPDFPage_GetAnnotCount(page))):
            if not _is_writing(page, number):
                raw.FPDFPage_RemoveAnnot(page, number)
        raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
        raw.FORM_OnBeforeClosePage(page, self._form)


def is_written_on(page: Any) -> bool:
    return any(_is_writing(page, number) for number in range(raw.FPDFPage_GetAnnotCount(page)))


def _is_writing(page: Any, number: int) -> bool:
    """That a reader sees: PDFium would draw those too that are only there to be printed, and icons of notes."""
    annotation = raw.FPDFPage_GetAnnot(page, number)
    if not annotation:
        return False
    try:
        is_seen = not raw.FPDFAnnot_GetFlags(annotation) & UNSEEN
        return is_seen and raw.FPDFAnnot_GetSubtype(annotation) in WRITTEN
    finally:
        raw.FPDFPage_CloseAnnot(annotation)

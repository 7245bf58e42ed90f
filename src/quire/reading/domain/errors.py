"""Why a document cannot be read. All but the last are final: the same bytes will be refused again."""

from __future__ import annotations

from quire.kernel import InvalidInputError, TooLargeError, UnavailableError, UnsupportedMediaError


class NotPdfError(UnsupportedMediaError):
    """There is no PDF header where a PDF has one."""

    code = "NOT_A_PDF"
    title = "The file is not a PDF"


class PdfEncryptedError(InvalidInputError):
    """It opens with a password only."""

    code = "PDF_ENCRYPTED"
    title = "The PDF is encrypted"


class PdfDamagedError(InvalidInputError):
    """Truncated, circular, or broken in a way that leaves no page to read."""

    code = "PDF_DAMAGED"
    title = "The PDF is damaged"


class PdfEmptyError(InvalidInputError):
    code = "PDF_WITHOUT_PAGES"
    title = "The PDF has no pages"


class PdfTooManyPagesError(TooLargeError):
    code = "PDF_TOO_MANY_PAGES"
    title = "The PDF has too many pages"


class ReadingTooCostlyError(TooLargeError):
    """Reading it ran into the limit on memory, processor time, time or output."""

    code = "READING_TOO_COSTLY"
    title = "The document needs more than it may"


class ReaderCrashedError(InvalidInputError):
    """The parser died of this document, in a process of its own."""

    code = "READER_CRASHED"
    title = "The document cannot be read"


class JailUnavailableError(UnavailableError):
    """No child process can be had at the moment, or it was ended from outside; no document's fault."""

    code = "READER_UNAVAILABLE"
    title = "The reader is not available"

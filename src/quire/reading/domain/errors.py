"""Why a document cannot be read. All but the last are final: the same bytes will be refused again."""

from __future__ import annotations

from quire.kernel import InvalidInputError, TooLargeError, UnavailableError, UnsupportedMediaError

# What helps, said to whoever reads the refusal.
EXPORT_AGAIN = "export or download it again and send that"


class NotPdfError(UnsupportedMediaError):
    """There is no PDF header where a PDF has one."""

    code = "NOT_A_PDF"
    title = "The file is not a PDF"


class PdfEncryptedError(InvalidInputError):
    """It opens with a password or a certificate only. One whose password only guards it against changes is read."""

    code = "PDF_ENCRYPTED"
    title = "The PDF is encrypted"


class PdfDamagedError(InvalidInputError):
    """Truncated, circular, or broken in a way that leaves no page, or no attached file that was asked for, to read."""

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

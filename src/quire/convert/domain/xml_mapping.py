"""A mapping as its users know it: a name, a version that changes with the output, and the schema it answers by."""

from __future__ import annotations

from dataclasses import dataclass

from quire.kernel import InvalidInputError, MalformedRequestError, RateLimitedError, UnsupportedMediaError


@dataclass(frozen=True, slots=True)
class XmlMapping:
    name: str
    version: str
    description: str
    schema: str
    namespace: str


class UnknownMappingError(MalformedRequestError):
    code = "UNKNOWN_MAPPING"
    title = "There is no such mapping"


class NoInvoiceError(InvalidInputError):
    """Nothing in the PDF says what it says in a form for machines."""

    code = "NO_EMBEDDED_INVOICE"
    title = "The PDF carries no invoice XML"


class EmbeddedInvoiceError(InvalidInputError):
    """There is an invoice in it, and it is not what its standard says."""

    code = "EMBEDDED_INVOICE_INVALID"
    title = "The embedded invoice is not valid"


class InvoiceWithoutLinesError(InvalidInputError):
    """Some profiles carry totals only, which the other format cannot."""

    code = "INVOICE_WITHOUT_LINES"
    title = "The embedded invoice has no lines"


class CreditNoteError(InvalidInputError):
    """The other format has a document of its own for these, so as an invoice it would ask for what it gives back."""

    code = "INVOICE_IS_CREDIT_NOTE"
    title = "The embedded invoice is a credit note"


class ResultInvalidError(InvalidInputError):
    """The mapping wrote XML that its own schema refuses, so it is not given out. A defect of the mapping, whatever the
    document is."""

    code = "RESULT_NOT_VALID"
    title = "The gateway could not say the document in valid XML"


class NotMultipartError(UnsupportedMediaError):
    code = "NOT_MULTIPART"
    title = "The body is not multipart/form-data"


class GatewayBusyError(RateLimitedError):
    code = "GATEWAY_BUSY"
    title = "The gateway has all it can do"

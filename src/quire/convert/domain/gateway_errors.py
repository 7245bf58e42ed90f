"""How a call of the gateway ends badly: the codes of a conversion, and which answer gets which."""

from __future__ import annotations

from quire.convert.domain.gateway_code import answer_in_words, code_in
from quire.kernel import QuireError

GW_4XX = "GW_4XX"
GW_5XX = "GW_5XX"
GW_TIMEOUT = "GW_TIMEOUT"
GW_BAD_RESPONSE = "GW_BAD_RESPONSE"
IO_ERROR = "IO_ERROR"

# Client errors by their number, but "not now" by their meaning.
PASSING = frozenset({408, 425, 429})
# Refusals of who asks or of where it was asked: no other file would fare better.
CALLER_AT_FAULT = frozenset({401, 403, 404, 405, 407})
SEND_ANOTHER = (
    "Send a mended file, or ask for another mapping, and discard this: the same bytes are refused again."
)
CHECK_GATEWAY = "Not the file's fault: check GATEWAY_URL and QUIRE_GATEWAY_TOKEN, then retry."
# Refusals in which the file has no part.
GATEWAY_AT_FAULT = frozenset({"RESULT_NOT_VALID"})
REPORT_GATEWAY = (
    "Not the file's fault: the gateway could not say it in valid XML. Report it, ask for another mapping, and discard "
    "this: the same bytes are refused until the gateway is mended."
)
# A gateway that asks for more than this is not waited for longer; the next answer may say so again.
LONGEST_PAUSE_SECONDS = 3600.0


class GatewayError(QuireError):
    """`status` is the gateway's, where it answered at all."""

    def __init__(
        self, detail: str = "", *, status: int | None = None, retry_after_seconds: float = 0.0
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.retry_after_seconds = min(max(0.0, retry_after_seconds), LONGEST_PAUSE_SECONDS)

    @property
    def remedy(self) -> str:
        """For the person who has to decide; nothing where the engine knows as much."""
        return ""


class GatewayRefusedError(GatewayError):
    """It will refuse this file the next time too."""

    code = GW_4XX
    title = "The gateway refused the file"

    @property
    def remedy(self) -> str:
        if code_in(self.detail) in GATEWAY_AT_FAULT:
            return REPORT_GATEWAY
        return CHECK_GATEWAY if self.status in CALLER_AT_FAULT else SEND_ANOTHER


class GatewayFailedError(GatewayError):
    """It failed, asked to come later, or could not be reached."""

    code = GW_5XX
    title = "The gateway failed"
    retryable = True


class GatewayUnreachableError(GatewayFailedError):
    """Nothing was sent: no connection came about. It cannot have been the file."""


class GatewayTimeoutError(GatewayError):
    code = GW_TIMEOUT
    title = "The gateway did not answer in time"
    retryable = True


class BadGatewayAnswerError(GatewayError):
    """An answer that is no XML document, or none that may be kept."""

    code = GW_BAD_RESPONSE
    title = "The gateway's answer cannot be used"
    retryable = True


class AnswerUncheckedError(QuireError):
    """This machine had no room, files or threads to look at the answer with. Of the answer it says nothing."""

    code = "ANSWER_UNCHECKED"
    title = "The gateway's answer could not be checked"
    retryable = True


def refusal_of(
    status: int, detail: str, retry_after_seconds: float = 0.0, *, gateway_code: str | None = None
) -> GatewayError:
    """The error of an answer other than 200."""
    message = answer_in_words(status, gateway_code, detail)
    if status in PASSING or status >= 500:
        return GatewayFailedError(message, status=status, retry_after_seconds=retry_after_seconds)
    if 400 <= status < 500:
        return GatewayRefusedError(message, status=status)
    return BadGatewayAnswerError(message, status=status)

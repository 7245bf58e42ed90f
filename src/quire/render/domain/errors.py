"""The render taxonomy. Engine codes (`WORKER_LOST`, …) come on top."""

from __future__ import annotations

from quire.kernel import InvalidInputError, NotFoundError, QuireError, TooLargeError

BROWSER_LAUNCH_FAILED = "BROWSER_LAUNCH_FAILED"
NAVIGATION_TIMEOUT = "NAVIGATION_TIMEOUT"
TEMPLATE_ERROR = "TEMPLATE_ERROR"
UNSUPPORTED_PLATFORM = "UNSUPPORTED_PLATFORM"
UNKNOWN = "UNKNOWN"


class BrowserLaunchError(QuireError):
    """No browser, or a browser that died. The message names a crash or a memory limit."""

    code = BROWSER_LAUNCH_FAILED
    title = "The browser could not be used"
    retryable = True


class NavigationTimeoutError(QuireError):
    """The document did not finish loading or printing in its time."""

    code = NAVIGATION_TIMEOUT
    title = "The document was not ready in time"
    retryable = True


class TemplateError(InvalidInputError):
    """The template, its payload or its output can never give a document."""

    code = TEMPLATE_ERROR
    title = "The template cannot be rendered with this payload"


class UnsupportedPlatformError(QuireError):
    """This machine cannot print safely: no browser, or no sandbox."""

    code = UNSUPPORTED_PLATFORM
    title = "This machine cannot render"


class OtherRendererError(UnsupportedPlatformError):
    """The document was accepted for a browser version or font set that this worker does not have."""

    title = "Another renderer is asked for"


class TemplateNotFoundError(NotFoundError):
    code = "TEMPLATE_NOT_FOUND"
    title = "No such template"


class RenderUnknownError(QuireError):
    """Printing failed in a way that no other code names."""

    code = UNKNOWN
    title = "Rendering failed"


class PayloadTooLargeError(TooLargeError):
    code = "PAYLOAD_TOO_LARGE"
    title = "The payload is too large"

"""What the webhooks refuse."""

from __future__ import annotations

from quire.kernel import ConflictError, InvalidInputError, NotFoundError, UnavailableError


class WebhookNotFoundError(NotFoundError):
    code = "WEBHOOK_NOT_FOUND"
    title = "No such webhook"


class DeliveryNotFoundError(NotFoundError):
    code = "WEBHOOK_DELIVERY_NOT_FOUND"
    title = "No such delivery"


class WebhookUrlError(InvalidInputError):
    """The URL can never be used as it is."""

    code = "WEBHOOK_URL_INVALID"
    title = "The URL cannot be a webhook's"


class WebhookAddressError(InvalidInputError):
    """The URL leads to where Quire does not send: this machine, a private network, a metadata endpoint."""

    code = "WEBHOOK_ADDRESS_REFUSED"
    title = "The URL leads to an address that is not allowed"


class WebhookHostError(InvalidInputError):
    code = "WEBHOOK_HOST_UNKNOWN"
    title = "The host name does not resolve"
    retryable = True


class WebhookKindError(InvalidInputError):
    """No kind of this installation is meant by a name or pattern: nothing would ever be sent."""

    code = "WEBHOOK_KIND_UNKNOWN"
    title = "A kind is not known"


class WebhookDisabledError(ConflictError):
    code = "WEBHOOK_DISABLED"
    title = "The webhook is disabled"


class WebhookLimitError(ConflictError):
    code = "WEBHOOK_LIMIT_REACHED"
    title = "The tenant has as many webhooks as it may have"


class WebhooksUnavailableError(UnavailableError):
    code = "WEBHOOKS_UNAVAILABLE"
    title = "Webhooks need QUIRE_SECRET_KEY"
    retryable = False


class SecretUnreadableError(UnavailableError):
    """Encrypted under another QUIRE_SECRET_KEY, or damaged."""

    code = "WEBHOOK_SECRET_UNREADABLE"
    title = "The webhook's secret cannot be read"

"""Sends one message to a receiver that nobody vouches for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from quire.jobs.domain.webhooks.webhook import Reply


class WebhookSender(Protocol):
    async def check(self, url: str) -> None:
        """SHALL raise a WebhookUrlError, WebhookHostError or WebhookAddressError for a URL that `post` would
        refuse now."""
        ...

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """SHALL connect only to an address that it has itself resolved and checked, SHALL NOT follow redirects,
        SHALL end within its time limit, and SHALL say every failure in its answer instead of raising."""
        ...

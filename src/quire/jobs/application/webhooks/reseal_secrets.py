"""Brings every webhook secret under the present key, so that the accepted one can be given up. Secrets stay what they
are: receivers notice nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from quire.jobs.domain.webhooks.webhook_errors import SecretUnreadableError
from quire.jobs.ports.v1.webhooks.secret_box import SecretBox
from quire.jobs.ports.v1.webhooks.webhook_book import SealedSecrets, WebhookBook

PAGE = 200


@dataclass(frozen=True, slots=True)
class Resealing:
    """Counts of subscriptions. Unreadable ones are under neither key."""

    current: int = 0
    resealed: int = 0
    unreadable: int = 0


async def reseal_secrets(book: WebhookBook, box: SecretBox) -> Resealing:
    """Safe to repeat. What is rotated meanwhile is sealed by who rotates it, and counts as current."""
    found = Resealing()
    async for old in _all_of(book):
        try:
            new = _renewed(box, old)
        except SecretUnreadableError:
            found = replace(found, unreadable=found.unreadable + 1)
            continue
        if new != old and await book.replace_sealed(old, new):
            found = replace(found, resealed=found.resealed + 1)
        else:
            found = replace(found, current=found.current + 1)
    return found


def _renewed(box: SecretBox, old: SealedSecrets) -> SealedSecrets:
    owner, previous = str(old.subscription_id), old.previous_secret
    return SealedSecrets(
        old.subscription_id,
        box.renewed(old.secret, owner),
        None if previous is None else box.renewed(previous, owner),
    )


async def _all_of(book: WebhookBook) -> AsyncIterator[SealedSecrets]:
    after = None
    while page := await book.sealed_secrets(after, PAGE):
        for sealed in page:
            yield sealed
        after = page[-1].subscription_id

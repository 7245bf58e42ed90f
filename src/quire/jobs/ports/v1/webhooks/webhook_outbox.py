"""Deliveries that are owed. A job's transition puts them here in its own transaction; couriers take them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from quire.jobs.domain.webhooks.webhook import Settlement, WebhookPolicy


@dataclass(frozen=True, slots=True)
class DueDelivery:
    id: UUID
    subscription_id: UUID
    event_type: str
    attempt: int
    fence: int
    url: str
    sealed_secrets: tuple[bytes, ...]
    payload: object


class WebhookOutbox(Protocol):
    async def claim(
        self, courier_id: UUID, limit: int, held: Mapping[UUID, int], policy: WebhookPolicy
    ) -> Sequence[DueDelivery]:
        """SHALL give each due delivery of an enabled subscription to one courier at a time, and give it out again
        once the lease is over. `held`: how many of each subscription the courier has in its hands already; with
        those, none gets more than the policy's share."""
        ...

    async def settle(
        self, courier_id: UUID, settlements: Sequence[Settlement], policy: WebhookPolicy
    ) -> Mapping[UUID, str]:
        """SHALL change nothing for a stale fence. SHALL disable a subscription that is gone or failed too often;
        answers those with the reason."""
        ...

    async def hand_back(self, courier_id: UUID, deliveries: Sequence[DueDelivery]) -> None:
        """SHALL make them due at once with the attempt restored."""
        ...

    async def prune(self, days: float, limit: int) -> int:
        """SHALL delete only settled deliveries older than this and those of removed subscriptions, at most about
        `limit` of each, and say how many went."""
        ...

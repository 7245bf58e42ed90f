"""Subscriptions and the delivery log. Every call is scoped to one tenant, or to all (None)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from quire.jobs.domain.webhooks.webhook import Delivery, DeliveryState, Subscription


@dataclass(frozen=True, slots=True)
class NewSubscription:
    id: UUID
    tenant_id: str
    url: str
    description: str
    event_types: tuple[str, ...]
    kinds: tuple[str, ...]
    sealed_secret: bytes
    created_by: str


@dataclass(frozen=True, slots=True)
class SubscriptionChange:
    """None leaves a field as it is."""

    url: str | None = None
    description: str | None = None
    event_types: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    enabled: bool | None = None


@dataclass(frozen=True, slots=True)
class SealedSecrets:
    """Of one subscription: the present secret, and the one before it while that still signs."""

    subscription_id: UUID
    secret: bytes
    previous_secret: bytes | None


@dataclass(frozen=True, slots=True)
class LogPosition:
    created_at: datetime
    id: UUID


class WebhookBook(Protocol):
    async def add(self, new: NewSubscription, tenant_max: int) -> Subscription:
        """SHALL raise WebhookLimitError when the tenant has `tenant_max` already."""
        ...

    async def get(self, subscription_id: UUID, tenant_id: str | None) -> Subscription:
        """SHALL raise WebhookNotFoundError, here and in every call below that names a subscription."""
        ...

    async def page(
        self, tenant_id: str | None, before_id: UUID | None, limit: int
    ) -> Sequence[Subscription]: ...

    async def change(
        self, subscription_id: UUID, tenant_id: str | None, change: SubscriptionChange
    ) -> Subscription:
        """Enabling SHALL forget the failures counted so far."""
        ...

    async def remove(self, subscription_id: UUID, tenant_id: str | None) -> None:
        """With everything still owed to it, and its log."""
        ...

    async def rotate(
        self, subscription_id: UUID, tenant_id: str | None, sealed_secret: bytes, overlap_seconds: float
    ) -> Subscription:
        """The secret so far SHALL sign beside the new one until the overlap is over; an older one ends now."""
        ...

    async def sealed_secrets(self, after_id: UUID | None, limit: int) -> Sequence[SealedSecrets]:
        """Of all tenants, in the order of ids."""
        ...

    async def replace_sealed(self, old: SealedSecrets, new: SealedSecrets) -> bool:
        """False, and nothing changed, when they are not the old ones any more."""
        ...

    async def add_test(self, subscription_id: UUID, tenant_id: str | None, actor: str) -> Delivery:
        """SHALL raise WebhookDisabledError for a disabled one."""
        ...

    async def deliveries(
        self,
        subscription_id: UUID,
        tenant_id: str | None,
        state: DeliveryState | None,
        before: LogPosition | None,
        limit: int,
    ) -> Sequence[Delivery]:
        """Newest first."""
        ...

    async def redeliver(self, subscription_id: UUID, tenant_id: str | None, delivery_id: UUID) -> Delivery:
        """SHALL make it due now under its old id, with all its attempts before it. One that is on its way stays
        as it is. Raises DeliveryNotFoundError, WebhookDisabledError."""
        ...

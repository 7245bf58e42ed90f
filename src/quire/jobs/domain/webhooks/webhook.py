"""Who wants to hear of which events, what is owed to them, and what becomes of an attempt to tell them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

from quire.jobs.domain.retry import Backoff

EventType = Literal[
    "job.queued", "job.running", "job.succeeded", "job.failed", "job.cancelled", "job.expired"
]
# What a subscription gets unless it says otherwise; the two noisy ones have to be asked for.
ENDING_EVENT_TYPES: tuple[EventType, ...] = ("job.succeeded", "job.failed", "job.cancelled", "job.expired")
TEST_EVENT = "webhook.test"
GONE = 410


class DeliveryState(StrEnum):
    PENDING = "pending"
    DELIVERED = "delivered"
    # The last attempt failed; another one follows.
    FAILED = "failed"
    # Given up; a person may ask for it again.
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class WebhookPolicy:
    attempts: int
    backoff: Backoff
    timeout_seconds: float = 10.0
    lease_margin_seconds: float = 20.0
    in_flight_max: int = 64
    in_flight_per_subscription: int = 16
    disable_after_dead: int = 20
    overlap_hours: float = 24.0
    log_days: float = 30.0
    subscriptions_per_tenant: int = 100

    @property
    def lease_seconds(self) -> float:
        return self.timeout_seconds + self.lease_margin_seconds


@dataclass(frozen=True, slots=True)
class Subscription:
    id: UUID
    tenant_id: str
    url: str
    description: str
    event_types: tuple[str, ...]
    kinds: tuple[str, ...]
    created_by: str
    created_at: datetime
    updated_at: datetime
    rotated_at: datetime | None
    previous_until: datetime | None
    disabled_at: datetime | None
    disabled_reason: str | None
    consecutive_failures: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """One line of the delivery log. Its id is the receiver's `webhook-id`."""

    id: UUID
    subscription_id: UUID
    job_id: UUID | None
    event_type: str
    state: DeliveryState
    attempt: int
    created_at: datetime
    next_at: datetime | None
    attempted_at: datetime | None
    delivered_at: datetime | None
    last_status: int | None
    last_error: str | None
    response_ms: int | None
    payload: object


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: a status, or the reason why there is none."""

    status: int | None
    error: str | None
    elapsed_ms: int

    @property
    def arrived(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Settlement:
    delivery_id: UUID
    fence: int
    state: DeliveryState
    reply: Reply
    delay_seconds: float = 0.0
    gone: bool = False


def settle(
    delivery_id: UUID,
    fence: int,
    event_type: str,
    attempt: int,
    reply: Reply,
    policy: WebhookPolicy,
    random: Callable[[], float],
) -> Settlement:
    """A test is tried once: whoever sent it is looking at the answer."""
    if reply.arrived:
        return Settlement(delivery_id, fence, DeliveryState.DELIVERED, reply)
    if reply.status == GONE:
        return Settlement(delivery_id, fence, DeliveryState.DEAD, reply, gone=True)
    if event_type == TEST_EVENT or attempt >= policy.attempts:
        return Settlement(delivery_id, fence, DeliveryState.DEAD, reply)
    delay = policy.backoff.delay_seconds(attempt, random)
    return Settlement(delivery_id, fence, DeliveryState.FAILED, reply, delay)

"""Webhooks and their deliveries as the API takes and shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from quire.jobs.domain.webhooks.webhook import ENDING_EVENT_TYPES, DeliveryState, EventType

Url = Annotated[str, Field(min_length=1, max_length=2000, description="https, on the public internet.")]
Description = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
EventTypes = Annotated[list[EventType], Field(min_length=1, max_length=6)]
Kinds = Annotated[
    list[Annotated[str, Field(max_length=100, pattern=r"^[a-z][a-z0-9_]*\.(\*|[a-z][a-z0-9_]*)$")]],
    Field(
        max_length=50, description="Only these: exact kinds or `context.*`, each of which exists. Empty: all."
    ),
]


class WebhookRequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: Url
    description: Description = ""
    event_types: EventTypes = Field(default=list(ENDING_EVENT_TYPES))
    kinds: Kinds = []


class WebhookChangeBody(BaseModel):
    """What is absent or null stays as it is."""

    model_config = ConfigDict(extra="forbid")

    url: Url | None = None
    description: Description | None = None
    event_types: EventTypes | None = None
    kinds: Kinds | None = None
    enabled: bool | None = None


class RotationBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    overlap_hours: float | None = Field(
        default=None,
        ge=0,
        le=720,
        description="How long the old secret signs beside the new one; 0 ends it now. Absent: as configured.",
    )


class WebhookView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    tenant_id: str
    url: str
    description: str
    event_types: list[str]
    kinds: list[str]
    created_by: str
    created_at: datetime
    updated_at: datetime
    rotated_at: datetime | None
    previous_until: datetime | None = Field(description="Until when the secret before signs too.")
    disabled_at: datetime | None
    disabled_reason: str | None = Field(description="`asked`, `gone` (410) or `failing`.")
    consecutive_failures: int = Field(description="Deliveries given up since the last one that arrived.")


class WebhookSecretView(WebhookView):
    secret: str = Field(description="Shown this once.")


class DeliveryView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID = Field(description="The `webhook-id` of every attempt.")
    subscription_id: UUID
    job_id: UUID | None
    event_type: str
    state: DeliveryState
    attempt: int
    created_at: datetime
    next_at: datetime | None = Field(description="When the next attempt is due, if one is owed.")
    attempted_at: datetime | None
    delivered_at: datetime | None
    last_status: int | None
    last_error: str | None
    response_ms: int | None
    payload: object

"""An attempt's right to a job: who holds it, since when, and the fence that every write carries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(slots=True)
class Lease:
    """One claimed job in a worker's hands. Mutable only in what the worker itself notes about it."""

    job_id: UUID
    fence: int
    kind: str
    queue: str
    tenant_id: str
    created_by: str
    attempt: int
    crash_count: int
    payload_text: str
    traceparent: str | None
    document_id: str | None
    external_ref: str | None
    age_seconds: float  # of the job at its claim, by the database's clock
    priority: int  # of its class; with run_at and id the order of claims
    run_at: datetime
    claimed_at: float  # monotonic seconds of this process
    probe: bool = False  # the one job that a half-open breaker lets through


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """What the database says of the leases a worker tried to renew."""

    lost: frozenset[UUID]
    cancel_requested: frozenset[UUID]

"""Queues, workers and integrations as the API shows them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from quire.jobs.domain.breaker import BreakerState
from quire.jobs.domain.job import QueueDepth
from quire.jobs.domain.queue import QueuePolicy


class QueueLimits(BaseModel):
    soft_limit_seconds: float
    hard_limit_seconds: float
    tenant_queued_max: int | None
    tenant_running_max: int | None


class QueueView(BaseModel):
    name: str
    size_class: str
    waiting: int
    queued: int
    scheduled: int
    running: int
    oldest_queued_seconds: float
    paused_at: datetime | None
    paused_by: str | None
    live_workers: int
    integration: str | None
    fair_tenants: bool
    limits: QueueLimits


class QueueList(BaseModel):
    items: list[QueueView]


class WorkerView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    host: str
    pid: int
    version: str
    queues: list[str]
    concurrency: int
    started_at: datetime
    beat_at: datetime
    running_jobs: int
    claiming: bool


class WorkerList(BaseModel):
    items: list[WorkerView]


class IntegrationView(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    name: str
    breaker: BreakerState
    changed_at: datetime
    tokens: float | None
    successes: int
    failures: int


class IntegrationList(BaseModel):
    items: list[IntegrationView]


def queue_view(policy: QueuePolicy, depth: QueueDepth) -> QueueView:
    return QueueView(
        name=policy.name,
        size_class=policy.size_class,
        waiting=depth.waiting,
        queued=depth.queued,
        scheduled=depth.scheduled,
        running=depth.running,
        oldest_queued_seconds=round(depth.oldest_queued_seconds, 3),
        paused_at=depth.paused_at,
        paused_by=depth.paused_by,
        live_workers=depth.live_workers,
        integration=policy.integration,
        fair_tenants=policy.fair_tenants,
        limits=QueueLimits(
            soft_limit_seconds=policy.soft_limit_seconds,
            hard_limit_seconds=policy.hard_limit_seconds,
            tenant_queued_max=policy.tenant_queued_max,
            tenant_running_max=policy.tenant_running_max,
        ),
    )

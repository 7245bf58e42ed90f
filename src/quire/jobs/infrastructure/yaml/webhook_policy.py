"""Reads config/webhooks.yaml. A configuration directory without the file gets the shipped numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from quire.jobs.domain.retry import Backoff
from quire.jobs.domain.webhooks.webhook import WebhookPolicy
from quire.jobs.infrastructure.yaml.located_file import read_located
from quire.jobs.infrastructure.yaml.policy_schema import Seconds, Strict

FILE = "webhooks.yaml"


class Retry(Strict):
    attempts: int = Field(8, ge=1, le=100)
    base_seconds: float = Field(5.0, ge=0)
    factor: float = Field(5.0, ge=1)
    cap_seconds: float = Field(33_600.0, ge=0)


class InFlight(Strict):
    process: int = Field(64, ge=1, le=1000)
    subscription: int = Field(16, ge=1, le=1000)


class WebhooksFile(Strict):
    version: Literal[1] = 1
    retry: Retry = Retry()
    timeout_seconds: float = Field(10.0, gt=0, le=60)
    lease_margin_seconds: Seconds = 20.0
    in_flight: InFlight = InFlight()
    disable_after_dead: int = Field(20, ge=1)
    overlap_hours: float = Field(24.0, ge=0, le=720)
    log_days: Seconds = 30.0
    subscriptions_per_tenant: int = Field(100, ge=1)


def load_webhook_policy(config_dir: Path) -> WebhookPolicy:
    """Raises PolicyFileError (CONFIG_INVALID) that names file and line."""
    path = config_dir / FILE
    file = read_located(path, WebhooksFile) if path.exists() else WebhooksFile()
    return WebhookPolicy(
        attempts=file.retry.attempts,
        backoff=Backoff(file.retry.base_seconds, file.retry.factor, file.retry.cap_seconds, "full"),
        timeout_seconds=file.timeout_seconds,
        lease_margin_seconds=file.lease_margin_seconds,
        in_flight_max=file.in_flight.process,
        in_flight_per_subscription=file.in_flight.subscription,
        disable_after_dead=file.disable_after_dead,
        overlap_hours=file.overlap_hours,
        log_days=file.log_days,
        subscriptions_per_tenant=file.subscriptions_per_tenant,
    )

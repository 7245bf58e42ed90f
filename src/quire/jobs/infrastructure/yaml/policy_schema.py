"""The shape of config/{queues,retries,throttling}.yaml. Unknown keys are errors: a typo must not be a default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from quire.jobs.domain.errors import JOB_TIMEOUT

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
KindName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$")]
KindPattern = Annotated[str, Field(pattern=r"^[a-z0-9_.*]+$")]
Code = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
SizeClass = Literal["small", "medium", "large", "xlarge"]
# Whatever is longer than a century is a typing mistake, and beyond the database's calendar in the end.
LONGEST_SECONDS = 100 * 366 * 86400.0
Seconds = Annotated[float, Field(gt=0, le=LONGEST_SECONDS)]
Days = Annotated[float, Field(gt=0, le=LONGEST_SECONDS / 86400)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class TenantQuota(Strict):
    queued: int | None = Field(None, ge=1)
    running: int | None = Field(None, ge=1)


class Queue(Strict):
    size_class: SizeClass = Field("small", alias="class")
    hard_limit_seconds: Seconds = 300.0
    soft_limit_seconds: Seconds | None = None
    integration: Name | None = None
    fair: Literal["tenants"] | None = None
    tenant_quota: TenantQuota = TenantQuota()


class Kind(Strict):
    """`queue: a` is short for `queues: [a]`."""

    queue: Name | None = None
    queues: list[Name] = []
    size_classes: list[SizeClass] = []
    ttl_seconds: float = Field(7 * 86400.0, ge=0, le=LONGEST_SECONDS)
    timeout_code: Code = JOB_TIMEOUT
    require_worker: bool = False
    unavailable_code: Code = "WORKER_UNAVAILABLE"
    max_payload_bytes: int = Field(262_144, gt=0)
    deferral_limit_seconds: Seconds = 3600.0


class Retention(Strict):
    event_days: Days = 30.0
    job_days: Days = 90.0


class QueuesFile(Strict):
    version: Literal[1]
    size_limits_bytes: dict[SizeClass, Annotated[int, Field(gt=0)]] = {}
    queues: dict[Name, Queue]
    kinds: dict[KindName, Kind] = {}
    retention: Retention = Retention()


class Rule(Strict):
    codes: list[Code] = Field(min_length=1)
    attempts: int = Field(ge=1, le=100)
    base_seconds: float = Field(1.0, ge=0, le=LONGEST_SECONDS)
    factor: float = Field(2.0, ge=1, le=1000)
    cap_seconds: float = Field(600.0, ge=0, le=LONGEST_SECONDS)
    jitter: Literal["full", "additive", "none"] = "full"
    jitter_seconds: float = Field(0.0, ge=0, le=LONGEST_SECONDS)
    size_class: SizeClass | None = Field(None, alias="class")


class RetriesFile(Strict):
    version: Literal[1]
    max_crashes: int = Field(3, ge=1)
    dead_letter_days: Days = 10.0
    kinds: dict[KindPattern, list[Rule]]


class Breaker(Strict):
    failure_codes: list[Code] = Field(min_length=1)
    window_seconds: Seconds = 60.0
    minimum_calls: int = Field(5, ge=1)
    failure_ratio: float = Field(0.5, gt=0, le=1)
    open_seconds: Seconds = 30.0


class Integration(Strict):
    rate_per_second: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    burst: int = Field(1, ge=1)
    max_concurrency: int | None = Field(None, ge=1)
    breaker: Breaker | None = None


class ThrottlingFile(Strict):
    version: Literal[1]
    integrations: dict[Name, Integration] = {}

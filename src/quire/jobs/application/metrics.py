"""What the engine counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from quire.runtime.telemetry import REGISTRY

JOBS_ENDED = Counter(
    "quire_job_attempts_total", "Attempts by how they ended", ["kind", "outcome"], registry=REGISTRY
)
JOB_FAILURES = Counter(
    "quire_job_failures_total", "Failed attempts by code", ["kind", "error_code"], registry=REGISTRY
)
JOB_SECONDS = Histogram(
    "quire_job_seconds",
    "Time in the handler",
    ["kind"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800),
    registry=REGISTRY,
)
JOBS_CLAIMED = Counter("quire_jobs_claimed_total", "Jobs claimed by this process", registry=REGISTRY)
JOBS_RUNNING = Gauge("quire_jobs_running", "Jobs in this process's hands", registry=REGISTRY)
LEASES_LOST = Counter("quire_leases_lost_total", "Results refused by their fence", registry=REGISTRY)
RECLAIMED = Counter("quire_jobs_reclaimed_total", "Expired leases given back", ["target"], registry=REGISTRY)
FLUSH_SECONDS = Histogram(
    "quire_completion_flush_seconds",
    "Time to write a batch of outcomes",
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
    registry=REGISTRY,
)
QUEUE_DEPTH = Gauge("quire_queue_jobs", "Jobs in a queue by state", ["queue", "state"], registry=REGISTRY)
QUEUE_AGE = Gauge("quire_queue_oldest_seconds", "Age of the oldest due job", ["queue"], registry=REGISTRY)
BREAKER_OPEN = Gauge(
    "quire_breaker_open", "0 closed, 0.5 half open, 1 open", ["integration"], registry=REGISTRY
)
WORKERS_LIVE = Gauge("quire_workers_live", "Workers seen within the last second", registry=REGISTRY)

"""What the engine counts, for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from quire.runtime.telemetry import REGISTRY, added_up

JOB_SECONDS_BUCKETS = (0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)


class AttemptTally(Collector):
    """Attempts by kind and outcome, and their times. Plain lists: a Prometheus child costs microseconds an
    attempt, which a worker at full speed would feel."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def note(self, kind: str, outcome: str, seconds: float) -> None:
        key = (kind, outcome)
        self._counts[key] = self._counts.get(key, 0) + 1
        buckets = self._buckets.get(kind)
        if buckets is None:
            buckets = self._buckets[kind] = [0] * (len(JOB_SECONDS_BUCKETS) + 1)
            self._sums[kind] = 0.0
        buckets[bisect_left(JOB_SECONDS_BUCKETS, seconds)] += 1
        self._sums[kind] += seconds

    def collect(self) -> Iterable[Metric]:
        attempts = CounterMetricFamily(
            "quire_job_attempts", "Attempts by how they ended", labels=["kind", "outcome"]
        )
        for (kind, outcome), count in self._counts.copy().items():
            attempts.add_metric([kind, outcome], count)
        seconds = HistogramMetricFamily("quire_job_seconds", "Time from claim to outcome", labels=["kind"])
        for kind, buckets in self._buckets.copy().items():
            seconds.add_metric([kind], list(_cumulative(buckets)), self._sums[kind])
        return [attempts, seconds]


def _cumulative(buckets: list[int]) -> Iterator[tuple[str, float]]:
    total = 0
    for bound, count in zip((*map(str, JOB_SECONDS_BUCKETS), "+Inf"), buckets, strict=True):
        total += count
        yield bound, total


ATTEMPTS = AttemptTally()
REGISTRY.register(ATTEMPTS)

JOB_FAILURES = Counter(
    "quire_job_failures_total", "Failed attempts by code", ["kind", "error_code"], registry=REGISTRY
)
JOBS_CLAIMED = Counter("quire_jobs_claimed_total", "Jobs claimed by workers", registry=REGISTRY)
JOBS_RUNNING = added_up(Gauge("quire_jobs_running", "Jobs in the hands of workers", registry=REGISTRY))
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
QUEUE_PAUSED = Gauge(
    "quire_queue_paused", "1 while nothing of a queue is claimed", ["queue"], registry=REGISTRY
)
BREAKER_OPEN = Gauge(
    "quire_breaker_open", "0 closed, 0.5 half open, 1 open", ["integration"], registry=REGISTRY
)
WORKERS_LIVE = Gauge("quire_workers_live", "Workers seen within the last second", registry=REGISTRY)
SWEEP_BACKLOG = Gauge(
    "quire_sweep_backlog",
    "What is due for the sweep, counted up to 10,000: expiry, strays, pruning",
    ["chore"],
    registry=REGISTRY,
)
SWEEP_OVERDUE = Gauge(
    "quire_sweep_overdue_seconds",
    "For how long the oldest of it has been due",
    ["chore"],
    registry=REGISTRY,
)

SCHEDULE_TICKS = Counter("quire_schedule_ticks_total", "Ticks by outcome", ["outcome"], registry=REGISTRY)

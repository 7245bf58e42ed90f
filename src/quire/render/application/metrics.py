"""What rendering counts, under the names its users already chart. Each process counts what it did itself;
the API tells the sum of all."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from quire.jobs import JobState, QueueDepth, Transition
from quire.runtime.telemetry import REGISTRY

QUEUE = "render_pdf"
SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 30, 60, 120)
COUNTED = (JobState.QUEUED, JobState.RUNNING, JobState.SUCCEEDED, JobState.FAILED, JobState.EXPIRED)

JOBS = Counter("ptf_admin_pdf_jobs_total", "Documents by state reached", ["status"], registry=REGISTRY)
FAILURES = Counter(
    "ptf_admin_pdf_failures_total", "Failed documents by code", ["error_code"], registry=REGISTRY
)
TOTAL_SECONDS = Histogram(
    "ptf_admin_pdf_render_total_seconds", "Accepted to finished", buckets=SECONDS, registry=REGISTRY
)
EXECUTOR_SECONDS = Histogram(
    "ptf_admin_pdf_render_executor_seconds", "Inside the browser", buckets=SECONDS, registry=REGISTRY
)
QUEUE_DEPTH = Gauge("ptf_admin_pdf_queue_depth", "Documents waiting", registry=REGISTRY)
# The SLO signal of the control plane.
RENDER_SECONDS = Histogram(
    "pdf_render_duration_seconds", "Claimed to printed", buckets=SECONDS, registry=REGISTRY
)

for state in COUNTED:
    # A chart of a state that nothing reached yet shows zero, not nothing.
    JOBS.labels(str(state))


def count_transition(moved: Transition) -> None:
    if moved.state in COUNTED:
        JOBS.labels(str(moved.state)).inc()
    if moved.state is JobState.FAILED:
        FAILURES.labels(moved.error_code or "UNKNOWN").inc()
    if moved.state in (JobState.SUCCEEDED, JobState.FAILED) and moved.age_seconds is not None:
        TOTAL_SECONDS.observe(moved.age_seconds)


def gauge_depth(depth: QueueDepth) -> None:
    """Those that wait for a moment of their own, after a failed attempt, wait too."""
    if depth.queue == QUEUE:
        QUEUE_DEPTH.set(depth.waiting + depth.queued + depth.scheduled)

"""What rendering counts, under the names its users already chart."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from quire.runtime.telemetry import REGISTRY

SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 30, 60)

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

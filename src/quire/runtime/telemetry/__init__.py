"""Logs, metrics and traces of a process: `configure_telemetry` at its start, close what it gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quire.runtime.settings import Settings
from quire.runtime.telemetry.installation_metrics import InstallationMetrics
from quire.runtime.telemetry.logs import configure_logs
from quire.runtime.telemetry.metric_shipper import metrics_shipped
from quire.runtime.telemetry.metric_store import MetricStore
from quire.runtime.telemetry.metrics import REGISTRY, added_up, render_metrics
from quire.runtime.telemetry.metrics_server import MetricsServer, start_metrics_server
from quire.runtime.telemetry.readiness import DatabaseReadiness, require_schema
from quire.runtime.telemetry.trace import Span, current_trace_id, current_traceparent, start_span

if TYPE_CHECKING:
    from quire.runtime.telemetry.exporter import SpanExporter

__all__ = [
    "REGISTRY",
    "DatabaseReadiness",
    "InstallationMetrics",
    "MetricStore",
    "MetricsServer",
    "Span",
    "added_up",
    "configure_telemetry",
    "current_trace_id",
    "current_traceparent",
    "metrics_shipped",
    "render_metrics",
    "require_schema",
    "start_metrics_server",
    "start_span",
]


def configure_telemetry(settings: Settings, process: str) -> SpanExporter | None:
    configure_logs(settings, process)
    if not settings.otlp_endpoint:
        return None
    # Half a second of imports that only an exporting process should pay.
    from quire.runtime.telemetry.exporter import SpanExporter

    return SpanExporter(settings.otlp_endpoint, process)

"""Sends spans to the configured OTLP/HTTP collector. One that is down costs only its spans."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from quire.runtime.telemetry.trace import use_tracer


class SpanExporter:
    """Batches spans on a thread of its own. `close()` sends what is left; it blocks at most a few seconds."""

    def __init__(self, endpoint: str, process: str) -> None:
        resource = Resource.create({"service.name": f"quire-{process}"})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=endpoint.rstrip("/") + "/v1/traces", timeout=3)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        use_tracer(self._provider.get_tracer("quire"))

    def close(self) -> None:
        use_tracer(None)
        self._provider.shutdown()

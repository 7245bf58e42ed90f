"""What the gateway counts. Codes are our own and few, so they may be labels."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from quire.runtime.telemetry import REGISTRY

CONVERSIONS = Counter(
    "quire_gateway_conversions", "Documents by mapping and outcome", ["mapping", "outcome"], registry=REGISTRY
)
SECONDS = Histogram(
    "quire_gateway_conversion_seconds",
    "In the jail, from its start to the whole answer",
    ["mapping"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120),
    registry=REGISTRY,
)
WAITING = Gauge("quire_gateway_waiting", "Documents that wait for their turn", registry=REGISTRY)


def count(mapping: str, outcome: str) -> None:
    CONVERSIONS.labels(mapping, outcome).inc()

"""What the courier counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

from quire.runtime.telemetry import REGISTRY, added_up

WEBHOOK_ATTEMPTS = Counter(
    "quire_webhook_attempts_total",
    "Attempts to deliver a webhook by what became of it",
    ["state"],
    registry=REGISTRY,
)
WEBHOOK_SECONDS = Histogram(
    "quire_webhook_seconds",
    "Time until the receiver answered",
    buckets=(0.01, 0.05, 0.1, 0.3, 1, 3, 10),
    registry=REGISTRY,
)
WEBHOOKS_IN_FLIGHT = added_up(Gauge("quire_webhooks_in_flight", "Deliveries on their way", registry=REGISTRY))
WEBHOOKS_DISABLED = Counter(
    "quire_webhooks_disabled_total", "Subscriptions disabled by the courier", ["reason"], registry=REGISTRY
)

"""What is counted of messages, for Prometheus."""

from __future__ import annotations

from functools import cache

from prometheus_client import Counter, Gauge

from quire.runtime.telemetry import REGISTRY

PUBLISHED = Counter(
    "quire_broker_published_total",
    "Messages sent to the broker: for new jobs, or again for unclaimed ones",
    ["cause"],
    registry=REGISTRY,
)
UNSENT = Counter(
    "quire_broker_unsent_total", "Messages left to the republisher, the broker being away", registry=REGISTRY
)
RECEIVED = Counter(
    "quire_broker_received_total",
    "Messages received, by whether this worker had room for them",
    ["outcome"],
    registry=REGISTRY,
)
NAMED = Counter(
    "quire_broker_named_total",
    "Jobs that messages named, by whether they could be claimed",
    ["outcome"],
    registry=REGISTRY,
)
# Shown by who has a broker: 0 where Postgres wakes workers would be a false alarm.
UP = Gauge("quire_broker_up", "1 when the last call to the broker went well", registry=None)
DEPTH = Gauge(
    "quire_broker_messages", "Messages waiting at the broker, by the last look", ["queue"], registry=REGISTRY
)


@cache
def show_broker() -> None:
    REGISTRY.register(UP)

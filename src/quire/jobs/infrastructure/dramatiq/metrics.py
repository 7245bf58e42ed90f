"""Dramatiq's own Prometheus metrics, in this process's registry. The middleware it ships starts a server of its own and
a directory that all processes share; here every process already serves its metrics."""

from __future__ import annotations

import time

from dramatiq import Broker, MessageProxy, Middleware, Worker
from prometheus_client import Counter, Gauge, Histogram

from quire.runtime.telemetry import REGISTRY, added_up

LABELS = ["queue_name", "actor_name"]
# Dramatiq's own names and unit, so that dashboards made for it work.
MESSAGES = Counter(
    "dramatiq_messages_total", "The total number of messages processed.", LABELS, registry=REGISTRY
)
ERRORS = Counter(
    "dramatiq_message_errors_total", "The total number of errored messages.", LABELS, registry=REGISTRY
)
REJECTS = Counter(
    "dramatiq_message_rejects_total", "The total number of dead-lettered messages.", LABELS, registry=REGISTRY
)
IN_PROGRESS = added_up(
    Gauge("dramatiq_messages_inprogress", "The number of messages in progress.", LABELS, registry=REGISTRY)
)
DURATION = Histogram(
    "dramatiq_message_duration_milliseconds",
    "The time spent processing messages.",
    LABELS,
    buckets=(1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 600000),
    registry=REGISTRY,
)


class DramatiqMetrics(Middleware):
    def __init__(self) -> None:
        self._started_at: dict[str, float] = {}

    def before_process_message(self, broker: Broker, message: MessageProxy) -> None:
        self._started_at[message.message_id] = time.monotonic()
        IN_PROGRESS.labels(message.queue_name, message.actor_name).inc()

    def after_process_message(
        self,
        broker: Broker,
        message: MessageProxy,
        *,
        result: object = None,
        exception: BaseException | None = None,
    ) -> None:
        labels = (message.queue_name, message.actor_name)
        started_at = self._started_at.pop(message.message_id, None)
        if started_at is not None:
            DURATION.labels(*labels).observe((time.monotonic() - started_at) * 1000)
            IN_PROGRESS.labels(*labels).dec()
        MESSAGES.labels(*labels).inc()
        if exception is not None:
            ERRORS.labels(*labels).inc()

    def after_nack(self, broker: Broker, message: MessageProxy) -> None:
        REJECTS.labels(message.queue_name, message.actor_name).inc()

    def after_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        self._started_at.clear()

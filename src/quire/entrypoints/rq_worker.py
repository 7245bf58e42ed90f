"""Workers by RQ's own command line:
`rq worker -c quire.entrypoints.rq_worker -w quire.entrypoints.rq_worker.QuireWorker [quire.NAME ...]`.
Settings come from the same environment as those of `quire worker`."""

from __future__ import annotations

from typing import Any

import structlog
from rq import Queue, SimpleWorker
from rq.job import Job
from rq.utils import current_timestamp, now
from rq.worker_registration import clean_worker_registry

from quire.entrypoints.brokers import broker_scheme, broker_url
from quire.entrypoints.engine import read_policies
from quire.entrypoints.worker_thread import WorkerThread
from quire.jobs.infrastructure.rq.message_form import (
    QUEUE_PREFIX,
    SERIALIZER,
    from_rq,
    queue_at_broker,
)
from quire.runtime.settings import Settings, SettingsError, load_settings

log = structlog.get_logger(__name__)


def _redis_url(settings: Settings) -> str | None:
    """None where the worker will refuse to start; whoever merely imports this module must not be stopped."""
    return broker_url(settings).removeprefix("rq+") if broker_scheme(settings).startswith("rq+") else None


def _queues(settings: Settings) -> list[str]:
    patterns = [pattern.strip() for pattern in settings.worker_queues.split(",")]
    matching = read_policies(settings).queues.matching(patterns)
    return [queue_at_broker(queue.name) for queue in sorted(matching, key=lambda one: one.priority)]


_settings = load_settings()
_worker: WorkerThread | None = None

# What `rq -c` reads.
REDIS_URL = _redis_url(_settings)
QUEUES = _queues(_settings)


def deliver(_job_id: str) -> None:
    """The function that messages name. `QuireWorker` never calls it, so it is called by a worker of another class."""
    raise RuntimeError("start RQ with -w quire.entrypoints.rq_worker.QuireWorker")


class QuireWorker(SimpleWorker):
    """RQ's worker with a Quire worker beside it. It takes messages out of Redis and performs none: RQ would import and
    call every function and callback that a message names, and anyone who may write to Redis could name any."""

    def __init__(self, queues: Any, *arguments: Any, **named: Any) -> None:
        if REDIS_URL is None:
            raise SettingsError("QUIRE_BROKER_URL: RQ works with rq+redis://")
        super().__init__(queues, *arguments, **{**named, "serializer": SERIALIZER})
        for queue in self.queues:
            queue.serializer = self.serializer

    def work(self, *arguments: Any, **named: Any) -> bool:
        global _worker
        chosen = [name.removeprefix(QUEUE_PREFIX) for name in self.queue_names()]
        _worker = WorkerThread(_settings, chosen)
        _worker.start()
        try:
            return super().work(*arguments, **named)
        finally:
            _worker.stop()
            _worker.join()

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Takes the id and deletes the message. A message that the closing worker refuses goes back."""
        refused = False
        try:
            refused = _worker is not None and not _worker.inbox.offer(from_rq(job))
        except ValueError:
            log.warning("message_not_ours", queue=queue.name)
        if refused:
            self.connection.lpush(queue.key, job.id)
        else:
            self.connection.delete(job.key)
        queue.intermediate_queue.remove(job.id)

    def clean_registries(self) -> None:
        """RQ's own maintenance would call the failure callbacks of messages that it takes for abandoned. Ours only
        drops entries: what a dead worker had taken, the republisher sends again."""
        for queue in self.queues:
            self.connection.delete(queue.intermediate_queue.key)
            for registry in (queue.started_job_registry, queue.failed_job_registry):
                self.connection.zremrangebyscore(registry.key, 0, current_timestamp())
            clean_worker_registry(queue)
        self.last_cleaned_at = now()  # type: ignore[assignment]

    def handle_warm_shutdown_request(self) -> None:
        """A message that waits for room must not hold the shutdown up."""
        super().handle_warm_shutdown_request()  # type: ignore[no-untyped-call]
        if _worker is not None:
            _worker.inbox.close()

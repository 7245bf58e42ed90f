"""Workers by RQ's own command line:
`rq worker -c quire.entrypoints.rq_worker -w quire.entrypoints.rq_worker.QuireWorker [quire.NAME ...]`.
Settings come from the same environment as those of `quire worker`."""

from __future__ import annotations

from typing import Any

import structlog
from rq import Queue, SimpleWorker, get_current_job
from rq.job import Job

from quire.entrypoints.brokers import broker_scheme, broker_url
from quire.entrypoints.engine import read_policies
from quire.entrypoints.worker_thread import WorkerThread
from quire.jobs.infrastructure.rq.message_form import (
    FUNCTION,
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
    """Called by RQ. Returns as soon as the worker beside has the job's id."""
    job = get_current_job()
    if _worker is None or job is None:
        raise RuntimeError("start RQ with -w quire.entrypoints.rq_worker.QuireWorker")
    _worker.inbox.offer(from_rq(job))


class QuireWorker(SimpleWorker):
    """RQ's worker with a Quire worker beside it. It does not fork: what runs a job is not RQ's process but a slot of
    the worker beside, with its own limits."""

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
        """RQ calls whatever function a message names; whoever may write to Redis could name any."""
        try:
            is_ours = job.func_name == FUNCTION
        except Exception:
            is_ours = False
        if is_ours:
            super().execute_job(job, queue)
        else:
            log.warning("message_not_ours", queue=queue.name)
            job.delete(remove_from_queue=False)

    def handle_warm_shutdown_request(self) -> None:
        """A message that waits for room must not hold the shutdown up."""
        super().handle_warm_shutdown_request()  # type: ignore[no-untyped-call]
        if _worker is not None:
            _worker.inbox.close()

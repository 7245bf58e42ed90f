"""Receives from RQ's queues in one thread, for `quire worker`; under RQ's own command line its worker does this.
Takes as many at once as the worker has room for, and removes a message when the worker has it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import redis
import rq
import structlog
from rq.job import Job

from quire.jobs.infrastructure.rq.message_form import SERIALIZER, from_rq, queue_at_broker
from quire.jobs.ports.v1.messenger import Letterbox

# How long the server keeps an answer back while there is nothing; also how long a stop may take.
BLOCK_SECONDS = 0.25
# Taken together with the one that was waited for.
BURST = 50
PATIENCE_SECONDS = 2.0
RECONNECT_SECONDS = 0.5
JOIN_SECONDS = 5.0

log = structlog.get_logger(__name__)


class RqReceiver:
    def __init__(self, client: redis.Redis, queues: Sequence[str], letterbox: Letterbox) -> None:
        self._client = client
        self._keys = [rq.Queue(queue_at_broker(name), connection=client).key for name in queues]
        self._letterbox = letterbox
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="receive-rq", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if not self._letterbox.await_room(RECONNECT_SECONDS):
                continue
            try:
                self._receive()
            except Exception as error:
                # Whatever it is: messages that were taken and not handed over are sent again.
                log.warning("receiver_lost", error=type(error).__name__)
                self._stopping.wait(RECONNECT_SECONDS)

    def _receive(self) -> None:
        """Queues in their order of urgency."""
        popped = self._client.blpop(self._keys, BLOCK_SECONDS)
        if popped is None:
            return
        key, first = popped
        more = self._client.lpop(key, BURST) or []
        names = [_text(name) for name in (first, *more)]
        found = Job.fetch_many(names, connection=self._client, serializer=SERIALIZER)
        jobs = [job for job in found if job is not None]
        handed = self._hand_over(jobs)
        if handed:
            self._client.delete(*(job.key for job in jobs[:handed]))
        if handed < len(jobs):
            self._client.lpush(key, *(job.id for job in reversed(jobs[handed:])))

    def _hand_over(self, jobs: Sequence[Job]) -> int:
        """How many of the first were accepted."""
        for place, job in enumerate(jobs):
            try:
                message = from_rq(job)
            except ValueError:
                log.warning("message_not_ours", queue=job.origin)
                continue
            if not self._letterbox.offer(message, PATIENCE_SECONDS):
                return place
        return len(jobs)

    def close(self) -> None:
        self._stopping.set()
        self._thread.join(JOIN_SECONDS)
        self._client.close()


def _text(name: object) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)

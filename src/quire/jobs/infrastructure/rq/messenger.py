"""Messages over RQ's queues. A batch travels in one pipeline."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import groupby

import redis
import rq

from quire.jobs.domain.errors import BrokerUnavailableError
from quire.jobs.infrastructure.redis.client import TIMEOUT_SECONDS, open_redis
from quire.jobs.infrastructure.rq.message_form import SERIALIZER, queue_at_broker, to_rq
from quire.jobs.infrastructure.rq.receiver import BLOCK_SECONDS, RqReceiver
from quire.jobs.ports.v1.messenger import Letterbox, Message

FAILURES = (OSError, redis.RedisError)


@contextlib.contextmanager
def told_apart() -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise BrokerUnavailableError(f"message broker: {type(error).__name__}") from error


class RqMessenger:
    def __init__(self, url: str) -> None:
        """`redis://` or `rediss://`."""
        self._url = url
        self._client = open_redis(url)

    def ping(self) -> None:
        with told_apart():
            self._client.ping()

    def publish(self, messages: Sequence[Message]) -> None:
        with told_apart(), self._client.pipeline(transaction=False) as pipeline:
            ordered = sorted(messages, key=lambda message: message.queue)
            for queue, group in groupby(ordered, key=lambda message: message.queue):
                self._queue(queue).enqueue_many([to_rq(message) for message in group], pipeline=pipeline)
            pipeline.execute()

    def depth(self, queue: str) -> int:
        with told_apart():
            return int(self._queue(queue).count)

    def _queue(self, name: str) -> rq.Queue:
        return rq.Queue(queue_at_broker(name), connection=self._client, serializer=SERIALIZER)

    def receive(self, queues: Sequence[str], letterbox: Letterbox) -> RqReceiver:
        # Its reads block at the server for a while by design.
        return RqReceiver(
            open_redis(self._url, read_seconds=TIMEOUT_SECONDS + BLOCK_SECONDS), queues, letterbox
        )

    def close(self) -> None:
        with contextlib.suppress(*FAILURES):
            self._client.close()

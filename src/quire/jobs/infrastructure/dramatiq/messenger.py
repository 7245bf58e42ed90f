"""Messages over Dramatiq's brokers. Redis gets a batch in one round trip; RabbitMQ in one flow without confirms, for a
message that is lost is sent again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import dramatiq
import pika.exceptions
import redis
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.brokers.redis import RedisBroker

from quire.jobs.domain.errors import BrokerUnavailableError
from quire.jobs.infrastructure.dramatiq.connection import knock, open_dramatiq
from quire.jobs.infrastructure.dramatiq.message_form import queue_at_broker, to_dramatiq
from quire.jobs.infrastructure.dramatiq.metrics import DramatiqMetrics
from quire.jobs.infrastructure.dramatiq.receiver import DramatiqReception
from quire.jobs.ports.v1.messenger import Letterbox, Message, Messenger

Value = TypeVar("Value")

FAILURES = (
    OSError,
    redis.RedisError,
    pika.exceptions.AMQPError,
    dramatiq.errors.BrokerError,
)


@contextlib.contextmanager
def told_apart() -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise BrokerUnavailableError(f"message broker: {type(error).__name__}") from error


def open_messenger(url: str) -> Messenger:
    broker = open_dramatiq(url, [DramatiqMetrics()])
    if isinstance(broker, RabbitmqBroker):
        return RabbitMessenger(broker)
    assert isinstance(broker, RedisBroker)
    return RedisMessenger(broker)


class RedisMessenger:
    def __init__(self, broker: RedisBroker) -> None:
        self._broker = broker
        self._client: redis.Redis = broker.client

    def ping(self) -> None:
        with told_apart():
            self._client.ping()

    def publish(self, messages: Sequence[Message]) -> None:
        """Through a second broker whose commands gather in a pipeline."""
        with told_apart(), self._client.pipeline(transaction=False) as pipeline:
            # Dramatiq asks the server once how much Lua can unpack, and a pipeline has no answers.
            self._broker._max_unpack_size()  # type: ignore[no-untyped-call]
            writer = RedisBroker(client=pipeline, middleware=[])  # type: ignore[no-untyped-call]
            # Redis remembers every id it has heard of, as a worker that may die.
            writer.broker_id = self._broker.broker_id
            for message in messages:
                writer.enqueue(to_dramatiq(message))
            pipeline.execute()

    def depth(self, queue: str) -> int:
        with told_apart():
            depth: Any = self._client.llen(f"{self._broker.namespace}:{queue_at_broker(queue)}")
        return int(depth)

    def receive(self, queues: Sequence[str], letterbox: Letterbox) -> DramatiqReception:
        return DramatiqReception(self._broker, queues, letterbox)

    def close(self) -> None:
        with contextlib.suppress(*FAILURES):
            self._client.close()


class RabbitMessenger:
    """A connection a thread: pika's are not to be shared."""

    def __init__(self, broker: RabbitmqBroker) -> None:
        self._broker = broker

    def ping(self) -> None:
        self._insist(self._ask_for_room)

    def _ask_for_room(self) -> None:
        """A server short of memory or disk still answers, until it is sent a message: so it gets one, to no queue."""
        self._broker.channel.basic_publish(exchange="", routing_key="", body=b"")
        self._await_server()

    def _await_server(self) -> None:
        """A round trip: the server has read all that was sent before, and got its heartbeats."""
        self._broker.channel.basic_qos(prefetch_count=0)

    def publish(self, messages: Sequence[Message]) -> None:
        self._insist(lambda: self._send(messages))

    def _send(self, messages: Sequence[Message]) -> None:
        # Notices that the server has closed the connection since the last time.
        self._broker.connection.process_data_events(time_limit=0)
        for message in messages:
            self._broker.enqueue(to_dramatiq(message))
        self._await_server()

    def depth(self, queue: str) -> int:
        """Asking also declares: a server that lost its queues gets them back."""
        counts = self._insist(lambda: self._broker.get_queue_message_counts(queue_at_broker(queue)))
        return int(counts[0])

    def _insist(self, call: Callable[[], Value]) -> Value:
        """Once more on a new connection: the old one may have died while it lay idle. A server that takes no messages
        would block the new one, too."""
        with told_apart():
            try:
                if not self._broker.connections:
                    knock(self._broker)
                return call()
            except FAILURES as error:
                del self._broker.connection
                if isinstance(error, pika.exceptions.ConnectionBlockedTimeout):
                    raise
                knock(self._broker)
                return call()

    def receive(self, queues: Sequence[str], letterbox: Letterbox) -> DramatiqReception:
        return DramatiqReception(self._broker, queues, letterbox)

    def close(self) -> None:
        with contextlib.suppress(*FAILURES):
            del self._broker.connection

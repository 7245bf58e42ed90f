"""Receives from one Dramatiq queue in a thread of its own, for `quire worker`; under Dramatiq's own command line its
Worker does this. A message is acknowledged as soon as the worker has it: no timeout of a broker can repeat work."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence

import dramatiq
import structlog
from dramatiq import MessageProxy
from dramatiq.brokers.rabbitmq import RabbitmqBroker

from quire.jobs.infrastructure.dramatiq.connection import knock
from quire.jobs.infrastructure.dramatiq.message_form import from_dramatiq, queue_at_broker
from quire.jobs.ports.v1.messenger import Letterbox

# Messages that one thread may have fetched and not yet handed over.
PREFETCH = 16
# The longest pause of a Redis consumer between two looks at an empty queue.
IDLE_MS = 100
# A message is given back to other workers when there was no room for it in this time.
PATIENCE_SECONDS = 2.0
RECONNECT_SECONDS = 0.5
JOIN_SECONDS = 5.0

log = structlog.get_logger(__name__)


class DramatiqReceiver:
    def __init__(self, broker: dramatiq.Broker, queue: str, letterbox: Letterbox) -> None:
        self._broker = broker
        self._queue = queue_at_broker(queue)
        self._letterbox = letterbox
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"receive-{queue}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            if not self._letterbox.await_room(RECONNECT_SECONDS):
                continue
            try:
                self._receive()
            except Exception as error:
                # Whatever it is: unreceived messages stay at the broker or are sent again.
                log.warning("receiver_lost", queue=self._queue, error=type(error).__name__)
                self._stopping.wait(RECONNECT_SECONDS)

    def _receive(self) -> None:
        knock(self._broker)
        consumer = self._broker.consume(self._queue, prefetch=PREFETCH, timeout=IDLE_MS)
        try:
            for message in consumer:
                if self._stopping.is_set():
                    _give_back(consumer, message)
                    return
                if message is not None and not self._hand_over(consumer, message):
                    return
        finally:
            with contextlib.suppress(Exception):
                consumer.close()
            _close_own_connection(self._broker)

    def _hand_over(self, consumer: dramatiq.Consumer, message: MessageProxy) -> bool:
        self._broker.emit_before("process_message", message)
        try:
            accepted = self._letterbox.offer(from_dramatiq(message), PATIENCE_SECONDS)
        except ValueError:
            log.warning("message_not_ours", queue=self._queue)
            accepted = True
        self._broker.emit_after("process_message", message)
        if accepted:
            consumer.ack(message)
        else:
            _give_back(consumer, message)
        return accepted

    def stop(self) -> None:
        self._stopping.set()

    def join(self) -> None:
        self._thread.join(JOIN_SECONDS)


def _close_own_connection(broker: dramatiq.Broker) -> None:
    """The one on which this thread declared its queue."""
    if isinstance(broker, RabbitmqBroker):
        with contextlib.suppress(Exception):
            del broker.connection


def _give_back(consumer: dramatiq.Consumer, message: MessageProxy | None) -> None:
    """With all that was fetched with it. RabbitMQ takes back what a closing consumer held; Redis must be told, or it
    keeps them for this process as long as it lives."""
    held = []
    while message is not None:
        held.append(message)
        message = next(consumer)
    if held:
        consumer.requeue(held)


class DramatiqReception:
    """One thread a queue."""

    def __init__(self, broker: dramatiq.Broker, queues: Sequence[str], letterbox: Letterbox) -> None:
        self._receivers = [DramatiqReceiver(broker, queue, letterbox) for queue in queues]
        for receiver in self._receivers:
            receiver.start()

    def close(self) -> None:
        for receiver in self._receivers:
            receiver.stop()
        for receiver in self._receivers:
            receiver.join()

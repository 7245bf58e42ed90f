"""A broker that names jobs: a message system carries what there is to do, Postgres the rest (what ended, what is to be
cancelled, and work of which nobody can say which jobs). A message that could not be sent is not retried here: its job
is still owed one, and the republisher finds it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import UUID

import structlog

from quire.jobs.application.brokers import broker_metrics
from quire.jobs.application.brokers.inbox import Inbox
from quire.jobs.domain.errors import BrokerUnavailableError
from quire.jobs.domain.job import Submission
from quire.jobs.ports.v1.broker import WORK, Broker
from quire.jobs.ports.v1.messenger import Message, Messenger, Reception

PUBLISH_MAX = 1000
# Connections with heartbeats of their own die when nobody looks after them.
KEEP_ALIVE_SECONDS = 5.0
PING_SECONDS = 5.0

log = structlog.get_logger(__name__)
Value = TypeVar("Value")


class MessageBroker:
    def __init__(
        self, messenger: Messenger, postgres: Broker, *, required: bool, inbox: Inbox | None = None
    ) -> None:
        """`inbox`: filled by someone else, in a process that an engine's own command line started."""
        broker_metrics.show_broker()
        self.required = required
        self._messenger = messenger
        self._postgres = postgres
        self._inbox = inbox or Inbox()
        self._receives = inbox is None
        self._queues: Sequence[str] = ()
        self._pending: list[Submission] = []
        self._publisher: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._ping: asyncio.Future[None] | None = None
        self._reception: Reception | None = None
        # One thread each: a ping must not wait for a thousand messages.
        self._sending = ThreadPoolExecutor(1, thread_name_prefix="messenger")
        self._pinging = ThreadPoolExecutor(1, thread_name_prefix="broker-ping")

    # --- sending

    async def ping(self) -> None:
        """Callers that come while one is under way share its answer."""
        if self._ping is None or self._ping.done():
            loop = asyncio.get_running_loop()
            self._ping = loop.run_in_executor(self._pinging, self._messenger.ping)
            self._ping.add_done_callback(_note_state)
        try:
            async with asyncio.timeout(PING_SECONDS):
                await asyncio.shield(self._ping)
        except TimeoutError:
            raise BrokerUnavailableError("the message broker does not answer") from None

    def announce(self, topic: str, jobs: Sequence[Submission] = ()) -> None:
        if topic != WORK or not jobs:
            self._postgres.announce(topic)
            return
        self._pending += jobs
        if self._publisher is None or self._publisher.done():
            self._publisher = asyncio.get_running_loop().create_task(self._publish_pending())

    async def _publish_pending(self) -> None:
        while self._pending:
            jobs, self._pending = self._pending[:PUBLISH_MAX], self._pending[PUBLISH_MAX:]
            messages = [Message(job.id, job.queue, job.traceparent) for job in jobs]
            try:
                await self.publish(messages, cause="accepted")
            except BrokerUnavailableError as error:
                broker_metrics.UNSENT.inc(len(messages) + len(self._pending))
                self._pending.clear()
                log.warning("messages_unsent", error=error.detail)

    async def publish(self, messages: Sequence[Message], *, cause: str) -> None:
        await self._call(self._messenger.publish, messages)
        broker_metrics.PUBLISHED.labels(cause).inc(len(messages))

    async def depth(self, queue: str) -> int:
        found = await self._call(self._messenger.depth, queue)
        broker_metrics.DEPTH.labels(queue).set(found)
        return found

    async def _call(self, call: Callable[..., Value], *arguments: object) -> Value:
        future = asyncio.get_running_loop().run_in_executor(self._sending, call, *arguments)
        future.add_done_callback(_note_state)
        return await future

    # --- receiving

    def subscribe(self, topic: str, wake: Callable[[], None]) -> None:
        self._postgres.subscribe(topic, wake)
        if topic == WORK:
            self._inbox.on_arrival(asyncio.get_running_loop(), wake)

    def serve(self, queues: Sequence[str]) -> None:
        self._queues = tuple(queues)

    def take(self, room: int) -> list[UUID]:
        return self._inbox.take(room)

    async def start(self) -> None:
        await self._postgres.start()
        if self._queues and self._receives:
            self._reception = self._messenger.receive(self._queues, self._inbox)
        self._keeper = asyncio.create_task(self._keep_alive(), name="broker-keeper")

    async def _keep_alive(self) -> None:
        while True:
            with contextlib.suppress(BrokerUnavailableError):
                await self._call(self._messenger.ping)
            await asyncio.sleep(KEEP_ALIVE_SECONDS)

    async def close(self) -> None:
        self._inbox.close()
        if self._keeper is not None:
            self._keeper.cancel()
        tasks = [task for task in (self._keeper, self._publisher) if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._reception is not None:
            await asyncio.to_thread(self._reception.close)
            self._reception = None
        for threads in (self._pinging, self._sending):
            # Each thread has its own connection to close. The second call of `close` finds no threads.
            with contextlib.suppress(RuntimeError):
                await asyncio.get_running_loop().run_in_executor(threads, self._messenger.close)
            threads.shutdown(wait=False)
        await self._postgres.close()


def _note_state(call: asyncio.Future[Value]) -> None:
    broker_metrics.UP.set(not call.cancelled() and call.exception() is None)

"""Sends messages again for jobs that could run and that nobody claimed: the broker was away, was wiped, or the worker
that took the message died with it. One process at a time, by a row lease."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

import structlog

from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.ports.v1.messenger import Message
from quire.jobs.ports.v1.outbox import Outbox
from quire.jobs.ports.v1.worker_registry import WorkerRegistry
from quire.kernel import QuireError

ROLE = "republisher"
PAGE = 500
# A gate lets few jobs through, and a message for any of them makes a worker look at the gate.
GATED_PAGE = 5

log = structlog.get_logger(__name__)


class Publisher(Protocol):
    async def depth(self, queue: str) -> int: ...

    async def publish(self, messages: Sequence[Message], *, cause: str) -> None: ...


class Republisher:
    def __init__(
        self,
        holder: UUID,
        registry: WorkerRegistry,
        outbox: Outbox,
        publisher: Publisher,
        queues: Sequence[QueuePolicy],
        every_seconds: float,
    ) -> None:
        self._holder = holder
        self._registry = registry
        self._outbox = outbox
        self._publisher = publisher
        self._pages = {queue.name: GATED_PAGE if queue.gated else PAGE for queue in queues}
        self._every_seconds = every_seconds

    async def run(self) -> None:
        try:
            while True:
                await asyncio.sleep(self._every_seconds * (0.75 + random.random() / 2))
                await self._republish_in_turn()
        finally:
            await asyncio.shield(self._give_up_role())

    async def _republish_in_turn(self) -> None:
        try:
            if await self._registry.take_role(ROLE, self._holder, 3 * self._every_seconds):
                await self.republish()
        except QuireError as error:
            log.warning("republish_failed", error_code=error.code)

    async def republish(self) -> int:
        """Per queue: as many of the most urgent as the broker lacks. What lies there unread counts, so a backlog
        that workers are busy with is not sent over and over."""
        owed = await self._outbox.owed(list(self._pages), self._every_seconds, PAGE)
        sent = 0
        for queue in sorted({message.queue for message in owed}):
            wanted = [message for message in owed if message.queue == queue][: self._pages[queue]]
            missing = len(wanted) - await self._publisher.depth(queue)
            if missing > 0:
                await self._publisher.publish(wanted[:missing], cause="unclaimed")
                sent += missing
        if sent:
            log.info("republished", messages=sent)
        return sent

    async def _give_up_role(self) -> None:
        try:
            await self._registry.release_role(ROLE, self._holder)
        except QuireError as error:
            log.warning("role_kept", role=ROLE, error_code=error.code)

"""The default broker: LISTEN/NOTIFY without payload, debounced, one listener a process.

A notification is sent after commit by a statement of its own: inside the enqueueing transaction it would hold a
database-wide lock through the commit's fsync, and concurrent enqueues would queue up behind each other.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from uuid import UUID

import asyncpg
import structlog

from quire.jobs.domain.job import Submission
from quire.jobs.ports.v1.broker import CANCEL, ENDED, WORK
from quire.kernel import QuireError
from quire.runtime.database import NOTICE_SILENCE, UNREACHABLE, Database

CHANNELS = {WORK: "quire_work", ENDED: "quire_ended", CANCEL: "quire_cancel"}
# At most one notification a topic in this time; the first of a burst goes out at once.
DEBOUNCE_SECONDS = 0.005
RECONNECT_SECONDS = 1.0
# A half-dead connection (silent network) is found by asking it now and then.
PROBE_SECONDS = 10.0

log = structlog.get_logger(__name__)


class PostgresBroker:
    required = False

    def __init__(self, database: Database, listen_dsn: str, *, poll_only: bool = False) -> None:
        self._database = database
        self._listen_dsn = listen_dsn
        self._poll_only = poll_only
        self._wakes: dict[str, list[Callable[[], None]]] = {}
        self._pending: set[str] = set()
        self._senders: dict[str, asyncio.Task[None]] = {}
        self._listener: asyncio.Task[None] | None = None

    async def ping(self) -> None:
        await self._database.ping()

    def announce(self, topic: str, jobs: Sequence[Submission] = ()) -> None:
        if self._poll_only:
            return
        self._pending.add(topic)
        if topic not in self._senders or self._senders[topic].done():
            self._senders[topic] = asyncio.get_running_loop().create_task(self._send(topic))

    async def _send(self, topic: str) -> None:
        while topic in self._pending:
            self._pending.discard(topic)
            # A lost notification only costs a poll interval, so failure here is not the caller's.
            with contextlib.suppress(QuireError, asyncpg.PostgresError):
                async with self._database.acquire() as connection:
                    await connection.execute(f"NOTIFY {CHANNELS[topic]}")
            await asyncio.sleep(DEBOUNCE_SECONDS)

    def subscribe(self, topic: str, wake: Callable[[], None]) -> None:
        self._wakes.setdefault(topic, []).append(wake)

    def serve(self, queues: Sequence[str]) -> None:
        """A notification names no queue: everybody gets it."""

    def take(self, room: int) -> list[UUID]:
        """Nor does it name jobs."""
        return []

    async def start(self) -> None:
        if self._wakes and not self._poll_only:
            ready = asyncio.Event()
            self._listener = asyncio.create_task(self._listen_forever(ready))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(5.0):
                    await ready.wait()

    async def _listen_forever(self, ready: asyncio.Event) -> None:
        while True:
            try:
                await self._listen(ready)
            except (*UNREACHABLE, asyncpg.PostgresError) as error:
                log.warning("listener_lost", error=type(error).__name__)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _listen(self, ready: asyncio.Event) -> None:
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
            self._listen_dsn,
            timeout=5.0,
            command_timeout=5.0,
            server_settings={"application_name": "quire-listen", **NOTICE_SILENCE},
        )
        try:
            for topic in self._wakes:
                await connection.add_listener(CHANNELS[topic], self._received)
            closed = asyncio.Event()
            connection.add_termination_listener(lambda _connection: closed.set())
            self._wake_all()
            ready.set()
            while not closed.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PROBE_SECONDS):
                        await closed.wait()
                    continue
                await connection.execute("SELECT 1")
        finally:
            connection.terminate()

    def _received(self, _connection: object, _pid: int, channel: str, _payload: object) -> None:
        for topic, name in CHANNELS.items():
            if name == channel:
                for wake in self._wakes.get(topic, ()):
                    wake()

    def _wake_all(self) -> None:
        for wakes in self._wakes.values():
            for wake in wakes:
                wake()

    async def close(self) -> None:
        tasks = [task for task in (self._listener, *self._senders.values()) if task is not None]
        if self._listener is not None:
            self._listener.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

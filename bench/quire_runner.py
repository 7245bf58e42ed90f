"""Quire behind the peers' contract: the same wiring as `quire worker` and the API, with a no-op handler that counts."""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

import uvloop

from bench.peers.contract import AsyncEngine, Engine, Options
from bench.peers.tally import Tally
from quire.entrypoints.engine import Engine as Wiring
from quire.entrypoints.engine import open_engine as open_wiring
from quire.entrypoints.migrate import migrate
from quire.entrypoints.worker import build_worker
from quire.jobs import Handler, JobContext, JobRequest, diagnostic_handlers, enqueue_jobs
from quire.jobs.application.brokers.message_broker import MessageBroker
from quire.jobs.infrastructure.postgres.lease_store import PostgresLeaseStore
from quire.runtime.garbage import settle_garbage
from quire.runtime.settings import Settings, load_settings

KIND = "jobs.noop"
# No job here makes an artifact; the wiring wants a place for them all the same.
STORAGE = Path(tempfile.gettempdir()) / "quire-bench-storage"
# Where config/queues.yaml sends that kind.
QUEUE = "default"
WHO = "bench"
UNFINISHED = "SELECT (SELECT count(*) FROM job_lanes) + (SELECT count(*) FROM job_running)"


def open_engine(options: Options) -> Engine:
    return Quire(options)


def settings_of(options: Options) -> Settings:
    """Concurrency is what a worker may hold at once; no-op jobs take as much as the completer writes at once."""
    batch = int(options["batch"])
    return load_settings(
        DATABASE_URL=options["dsn"],
        QUIRE_STORAGE_URL=f"file:{STORAGE}",
        QUIRE_LOG_LEVEL="error",
        WORKER_CONCURRENCY=batch,
        WORKER_COMPLETION_BATCH=batch,
        WORKER_LEASE_TTL_SEC=float(options.get("lease", 60)),
        QUIRE_BROKER_URL=options.get("broker", "postgres://"),
    )


class TimedLeases(PostgresLeaseStore):
    """Begins the clock with the first claim, as it begins for the peer that claims in batches."""

    tally: Tally

    async def claim(self, worker_id: UUID, *arguments: Any, **named: Any) -> Any:
        self.tally.begin()
        return await super().claim(worker_id, *arguments, **named)

    async def claim_named(self, worker_id: UUID, *arguments: Any, **named: Any) -> Any:
        self.tally.begin()
        return await super().claim_named(worker_id, *arguments, **named)


class Quire(AsyncEngine):
    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.wiring: Wiring | None = None

    async def opened(self) -> Wiring:
        """Late, because `reset` installs what opening needs."""
        if self.wiring is None:
            opening = open_wiring(settings_of(self.options), application="quire-bench")
            self.wiring = await self.stack.enter_async_context(opening)
            settle_garbage()
        return self.wiring

    def reset(self) -> None:
        self.run(migrate(self.options["dsn"]))

    async def enqueue(self, number: int, sent_at: int) -> None:
        request = JobRequest(KIND, {"number": number, "sent_at": sent_at})
        await enqueue_jobs((await self.opened()).intake, [request], tenant_id=WHO, created_by=WHO)

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        requests = [JobRequest(KIND, {"number": number, "sent_at": 0}) for number in numbers]
        await enqueue_jobs((await self.opened()).intake, requests, tenant_id=WHO, created_by=WHO)

    def batches(self, numbers: Sequence[int]) -> float:
        seconds = super().batches(numbers)
        self.run(self._settle())
        return seconds

    async def _settle(self) -> None:
        """A full store has all its messages, too, before a worker is let at it."""
        broker = (await self.opened()).broker
        if isinstance(broker, MessageBroker) and broker._publisher is not None:
            await broker._publisher

    def unfinished(self) -> int:
        return self.run(self._unfinished())

    async def _unfinished(self) -> int:
        async with (await self.opened()).database.acquire() as connection:
            return int(await connection.fetchval(UNFINISHED))

    def work(self, tally: Tally) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._work(tally))

    async def _work(self, tally: Tally) -> None:
        settings = settings_of(self.options)
        opening = open_wiring(
            settings, application="quire-worker", handlers=self.handlers(tally), by_key=True
        )
        async with opening as wiring:
            leases = TimedLeases(wiring.database, wiring.policies)
            leases.tally = tally
            worker = build_worker(dataclasses.replace(wiring, leases=leases), settings)
            settle_garbage()
            await worker.run()

    def handlers(self, tally: Tally) -> list[Handler]:
        hold = bool(self.options.get("hold"))

        async def noop(payload: object, context: JobContext) -> None:
            assert isinstance(payload, Mapping)
            tally.note(payload["number"], payload["sent_at"])
            if hold:
                await asyncio.get_running_loop().create_future()

        return [Handler(KIND, noop), *(one for one in diagnostic_handlers() if one.kind != KIND)]

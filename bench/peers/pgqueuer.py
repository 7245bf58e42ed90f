"""PgQueuer on asyncpg: batched dequeue, buffered completion, dedupe key on every job."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import asyncpg
import uvloop
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from bench.peers.contract import AsyncEngine, Engine, Options
from bench.peers.tally import Tally

PAYLOAD = struct.Struct("<qq")
UNFINISHED = "SELECT count(*) FROM pgqueuer"
FOREVER_SECONDS = 3600


def open_engine(options: Options) -> Engine:
    return PgQueuer(options)


class TimedQueries(Queries):  # type: ignore[misc, unused-ignore]
    """Begins the clock with the first claim: the checks of the schema before it are not work."""

    tally: Tally

    async def dequeue(self, *args: Any, **kwargs: Any) -> list[Job]:
        self.tally.begin()
        jobs: list[Job] = await super().dequeue(*args, **kwargs)
        return jobs


class PgQueuer(AsyncEngine):
    async def open(self) -> None:
        self.pool = await asyncpg.create_pool(
            self.options["dsn"], min_size=1, max_size=int(self.options.get("pool", 20))
        )
        self.queries = Queries.from_asyncpg_pool(self.pool)

    def reset(self) -> None:
        self.run(self._reset())

    async def _reset(self) -> None:
        await self.queries.install()
        await self.queries.optimize_autovacuum()

    async def enqueue(self, number: int, sent_at: int) -> None:
        await self.queries.enqueue("noop", PAYLOAD.pack(number, sent_at), dedupe_key=str(number))

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        await self.queries.enqueue(
            ["noop"] * len(numbers),
            [PAYLOAD.pack(number, 0) for number in numbers],
            [0] * len(numbers),
            dedupe_key=[str(number) for number in numbers],
        )

    def unfinished(self) -> int:
        return int(self.run(self.pool.fetchval(UNFINISHED)))

    def work(self, tally: Tally) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._work(tally))

    async def _work(self, tally: Tally) -> None:
        hold = bool(self.options.get("hold"))
        async with asyncpg.create_pool(self.options["dsn"], min_size=2, max_size=4) as pool:
            manager = QueueManager(TimedQueries(AsyncpgPoolDriver(pool)))
            manager.queries.tally = tally

            @manager.entrypoint("noop")  # type: ignore[untyped-decorator, unused-ignore]
            async def noop(job: Job) -> None:
                assert job.payload is not None
                tally.note(*PAYLOAD.unpack(job.payload))
                if hold:
                    await asyncio.sleep(FOREVER_SECONDS)

            await manager.run(
                batch_size=int(self.options["batch"]),
                dequeue_timeout=timedelta(seconds=1),
                heartbeat_timeout=timedelta(seconds=float(self.options.get("lease", 30))),
            )

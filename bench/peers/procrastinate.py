"""procrastinate on psycopg: async tasks, one worker process, queueing lock as its dedupe."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import procrastinate
import psycopg
import uvloop

from bench.peers.contract import AsyncEngine, Engine, Options
from bench.peers.tally import Tally

UNFINISHED = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
FOREVER_SECONDS = 3600


def open_engine(options: Options) -> Engine:
    return Procrastinate(options)


class Procrastinate(AsyncEngine):
    async def open(self) -> None:
        self.app, self.task = self.make_app(pool_max=int(self.options.get("pool", 20)), tally=None)
        await self.app.open_async()

    def make_app(self, pool_max: int, tally: Tally | None) -> tuple[procrastinate.App, Any]:
        app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(
                conninfo=self.options["dsn"], min_size=1, max_size=pool_max
            )
        )

        @app.task(name="noop", queue="bench")  # type: ignore[untyped-decorator, unused-ignore]
        async def noop(number: int, sent_at: int) -> None:
            assert tally is not None
            tally.note(number, sent_at)
            if self.options.get("hold"):
                await asyncio.sleep(FOREVER_SECONDS)

        return app, noop

    def reset(self) -> None:
        self.run(self._reset())

    async def _reset(self) -> None:
        await self.app.schema_manager.apply_schema_async()

    async def enqueue(self, number: int, sent_at: int) -> None:
        await self.task.configure(queueing_lock=str(number)).defer_async(number=number, sent_at=sent_at)

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        # A queueing lock is one value for a whole batch here, so the bulk path is the one without dedupe.
        await self.task.batch_defer_async(*({"number": number, "sent_at": 0} for number in numbers))

    def unfinished(self) -> int:
        with psycopg.connect(self.options["dsn"]) as connection:
            row = connection.execute(UNFINISHED).fetchone()
        assert row is not None
        return int(row[0])

    def work(self, tally: Tally) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._work(tally))

    async def _work(self, tally: Tally) -> None:
        concurrency = int(self.options["concurrency"])
        app, _ = self.make_app(pool_max=concurrency + 2, tally=tally)
        async with app.open_async():
            await app.run_worker_async(
                queues=["bench"],
                concurrency=concurrency,
                fetch_job_polling_interval=1.0,
                install_signal_handlers=False,
                delete_jobs=self.options.get("delete_jobs", "never"),
            )

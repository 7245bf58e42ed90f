"""Celery on Redis: late acknowledgement, for a killed worker must lose nothing; no result backend."""

from __future__ import annotations

from collections.abc import Sequence

import celery
import redis

from bench.peers.contract import Engine, Options, SyncEngine
from bench.peers.tally import Tally

QUEUE = "bench"


def open_engine(options: Options) -> Engine:
    return Celery(options)


class Celery(SyncEngine):
    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.client = redis.Redis.from_url(options["redis"])
        self.tally = Tally()
        self.app = celery.Celery("bench", broker=options["redis"])
        self.app.conf.update(
            task_default_queue=QUEUE,
            task_acks_late=True,
            task_ignore_result=True,
            worker_prefetch_multiplier=int(options.get("prefetch", 4)),
            broker_connection_retry_on_startup=False,
            worker_hijack_root_logger=False,
        )

        @self.app.task(name="noop")  # type: ignore[untyped-decorator, unused-ignore]
        def noop(number: int, sent_at: int) -> None:
            self.tally.note(number, sent_at)

        self.task = noop

    def reset(self) -> None:
        self.client.flushall()

    def enqueue(self, number: int, sent_at: int) -> None:
        self.task.apply_async((number, sent_at))

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        with self.app.producer_pool.acquire() as producer:
            for number in numbers:
                self.task.apply_async((number, 0), producer=producer)

    def work(self, tally: Tally) -> None:
        self.tally = tally
        threads = int(self.options.get("threads", 1))
        pool = ["--pool", self.options["pool"], "--concurrency", str(threads)]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "CRITICAL"]
        self.app.worker_main(["worker", *pool, *quiet])

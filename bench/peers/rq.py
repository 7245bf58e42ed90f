"""RQ on Redis: SimpleWorker (no fork per job) by default; option `forking` runs the ordinary Worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import redis
from rq import Queue, SimpleWorker, Worker

from bench.peers.contract import Engine, Options, SyncEngine
from bench.peers.tally import Tally

TALLY = Tally()
# A dotted name, because RQ looks the function up by its path.
HANDLER = "bench.peers.rq.handle"
KEEP_NOTHING_SECONDS = 0


def open_engine(options: Options) -> Engine:
    return Rq(options)


def handle(number: int, sent_at: int) -> None:
    TALLY.note(number, sent_at)


class Rq(SyncEngine):
    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.client = redis.Redis.from_url(options["redis"])
        self.queue = Queue("bench", connection=self.client, default_timeout=-1)

    def reset(self) -> None:
        self.client.flushall()

    def enqueue(self, number: int, sent_at: int) -> None:
        self.queue.enqueue(
            HANDLER, number, sent_at, job_id=f"job-{number}", unique=True, result_ttl=KEEP_NOTHING_SECONDS
        )

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        self.queue.enqueue_many(
            [Queue.prepare_data(HANDLER, (number, 0), result_ttl=KEEP_NOTHING_SECONDS) for number in numbers]
        )

    def work(self, tally: Tally) -> None:
        global TALLY
        TALLY = tally
        kind = SimpleWorker
        if self.options.get("forking"):
            kind = Worker
            threading.Thread(target=self.watch, args=(tally,), daemon=True).start()
        kind([self.queue], connection=self.client).work(logging_level="CRITICAL")

    def watch(self, tally: Tally) -> None:
        """A forked child cannot reach our tally, so what left the queue counts."""
        client = redis.Redis.from_url(self.options["redis"])
        total = seen = int(client.llen(self.queue.key))
        while True:
            left = int(client.llen(self.queue.key))
            for _ in range(seen - left):
                tally.note(total - seen, time.monotonic_ns())
            seen = min(seen, left)
            time.sleep(0.02)

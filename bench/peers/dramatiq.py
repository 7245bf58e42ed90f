"""Dramatiq on Redis: default middleware, one process, best number of threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from bench.peers.contract import Engine, Options, SyncEngine
from bench.peers.tally import Tally

FOREVER_SECONDS = 3600
# How many commands in a million look for dead workers. The default of 1,000 makes recovery a matter of luck.
EAGER_MAINTENANCE = 1_000_000


def open_engine(options: Options) -> Engine:
    return Dramatiq(options)


class Dramatiq(SyncEngine):
    def __init__(self, options: Options) -> None:
        super().__init__(options)
        reclaim: dict[str, Any] = {}
        if "lease" in options:
            reclaim = {
                "heartbeat_timeout": int(options["lease"] * 1000),
                "maintenance_chance": EAGER_MAINTENANCE,
            }
        self.broker = RedisBroker(url=options["redis"], **reclaim)
        dramatiq.set_broker(self.broker)
        self.tally = Tally()
        self.actor = dramatiq.actor(self.handle, actor_name="noop", queue_name="bench")

    def handle(self, number: int, sent_at: int) -> None:
        self.tally.note(number, sent_at)
        if self.options.get("hold"):
            time.sleep(FOREVER_SECONDS)

    def reset(self) -> None:
        self.broker.client.flushall()

    def enqueue(self, number: int, sent_at: int) -> None:
        self.actor.send(number, sent_at)

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.actor.send(number, 0)

    def unfinished(self) -> int:
        return int(self.broker.client.hlen("dramatiq:bench.msgs"))

    def work(self, tally: Tally) -> None:
        self.tally = tally
        dramatiq.Worker(self.broker, worker_threads=int(self.options["threads"]), worker_timeout=100).start()
        threading.Event().wait()

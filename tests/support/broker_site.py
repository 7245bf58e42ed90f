"""A site whose workers are woken by a message system: its server, its workers' command lines, and their end."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.broker_servers import RabbitServer, RedisServer
from tests.support.processes import PLAIN, WorkerProcess, WorkerYard, kill_tree, worker_yard
from tests.support.site import Site

from quire.entrypoints.engine import Engine
from quire.jobs.application.brokers.message_broker import MessageBroker
from quire.jobs.domain.errors import BrokerUnavailableError
from quire.jobs.ports.v1.messenger import Message

DRAMATIQ = ("-m", "dramatiq", "quire.entrypoints.dramatiq_worker", "--processes", "1", "--threads", "4")
RQ = ("-m", "rq.cli", "worker", "-c", "quire.entrypoints.rq_worker")
RQ_CLASS = ("-w", "quire.entrypoints.rq_worker.QuireWorker")
# How each system's own command line starts a worker.
OWN = {"dramatiq-redis": DRAMATIQ, "dramatiq-rabbitmq": DRAMATIQ, "rq-redis": (*RQ, *RQ_CLASS)}


@dataclass
class BrokerSite:
    site: Site
    system: str
    server: RedisServer | RabbitServer
    yard: WorkerYard

    def start_own(self) -> WorkerProcess:
        """By the system's own command line."""
        return self.yard.start(OWN[self.system], WORKER_CONCURRENCY=8)

    def start_plain(self) -> WorkerProcess:
        return self.yard.start(PLAIN, WORKER_CONCURRENCY=8)


def slay(worker: WorkerProcess) -> None:
    """kill -9 of all its processes: Dramatiq's work is done by a child."""
    if worker.exit_code is None:
        kill_tree(worker.pid)
    worker.kill()


@contextlib.contextmanager
def broker_site(
    system: str, dsn: str, root: Path, rabbit: RabbitServer | None, *, max_crashes: int
) -> Iterator[BrokerSite]:
    """Redis gets a server of its own, which forgets everything when it is killed."""
    with contextlib.ExitStack() as stack:
        server: RedisServer | RabbitServer
        if rabbit is not None:
            server = rabbit
        else:
            server = RedisServer(
                Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="quire-redis-")))
            )
            server.start()
            stack.callback(server.stop)
        names = {
            "QUIRE_BROKER_URL": f"rq+{server.url}" if system == "rq-redis" else server.url,
            "QUIRE_BROKER_REQUIRED": "false",
            "QUIRE_REPUBLISH_SEC": "0.5",
            # Messages alone: who polls would hide what they lose.
            "WORKER_POLL_SEC": "600",
        }
        site = Site(dsn, root, max_crashes, names)
        yard = stack.enter_context(worker_yard(site))
        started: list[WorkerProcess] = yard._workers
        stack.callback(lambda: [slay(worker) for worker in started])
        yield BrokerSite(site, system, server, yard)


async def repeat_messages(engine: Engine) -> int:
    """Once more for every job there ever was, finished or not, in any order."""
    assert isinstance(engine.broker, MessageBroker)
    async with engine.database.acquire() as connection:
        rows = await connection.fetch("SELECT id, queue FROM jobs")
    messages = [Message(row["id"], row["queue"]) for row in rows]
    random.shuffle(messages)
    with contextlib.suppress(BrokerUnavailableError):
        await engine.broker.publish(messages, cause="test")
    return len(messages)

"""The brokers of the contract, each on a real server, and whole workers that only messages wake."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pika
import pytest
import redis
from tests.support.broker_servers import RabbitServer, RedisServer
from tests.support.engine_fixture import engine_settings

from quire.entrypoints.engine import Engine, open_engine, shipped_handlers
from quire.entrypoints.worker import run_worker
from quire.jobs import Handler, JobContext

POSTGRES = "postgres"
SYSTEMS = ("dramatiq-redis", "dramatiq-rabbitmq", "rq-redis")
NEVER_SECONDS = 3600


@dataclass(frozen=True)
class BrokerUnderTest:
    name: str
    url: str
    server: RedisServer | RabbitServer | None = None

    @property
    def names(self) -> dict[str, object]:
        """Nobody polls and nothing is sent twice, unless a test says so: what happens, a first message made happen."""
        return {
            "QUIRE_BROKER_URL": self.url,
            "WORKER_POLL_SEC": NEVER_SECONDS,
            "QUIRE_REPUBLISH_SEC": NEVER_SECONDS,
        }

    def raw_messages(self, queue: str) -> list[bytes]:
        """Everything that lies at the server for one queue, as bytes; RabbitMQ's are taken out."""
        if isinstance(self.server, RabbitServer):
            return _rabbit_messages(self.server, f"quire.{queue}")
        assert self.server is not None
        with redis.Redis.from_url(self.server.url) as client:
            hashes = [key for key in client.keys("*") if client.type(key) == b"hash"]
            return [value for key in hashes for value in client.hgetall(key).values()]

    def lose_messages(self) -> None:
        if isinstance(self.server, RedisServer):
            self.server.wipe()
        elif self.server is not None:
            _rabbit_messages(self.server, "quire.default")


def _rabbit_messages(server: RabbitServer, queue: str) -> list[bytes]:
    connection = pika.BlockingConnection(pika.URLParameters(server.url))
    channel = connection.channel()
    bodies: list[bytes] = []
    while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
        bodies.append(got[2])
    connection.close()
    return bodies


def _forget_queue(server: RabbitServer, queue: str) -> None:
    """With what an earlier test left, also what is on its way back from a closed connection."""
    connection = pika.BlockingConnection(pika.URLParameters(server.url))
    connection.channel().queue_delete(queue)
    connection.close()


def broker_named(name: str, request: pytest.FixtureRequest) -> BrokerUnderTest:
    if name == POSTGRES:
        return BrokerUnderTest(name, "postgres://")
    if name == "dramatiq-rabbitmq":
        rabbit: RabbitServer = request.getfixturevalue("rabbit_server")
        _forget_queue(rabbit, "quire.default")
        return BrokerUnderTest(name, rabbit.url, rabbit)
    server: RedisServer = request.getfixturevalue("redis_server")
    server.wipe()
    return BrokerUnderTest(name, url_on(server, name), server)


def url_on(server: RedisServer, name: str) -> str:
    return f"rq+{server.url}" if name.startswith("rq") else server.url


@pytest.fixture(params=[POSTGRES, *SYSTEMS])
def any_broker(request: pytest.FixtureRequest) -> BrokerUnderTest:
    return broker_named(request.param, request)


@pytest.fixture(params=SYSTEMS)
def message_system(request: pytest.FixtureRequest) -> BrokerUnderTest:
    return broker_named(request.param, request)


class Record:
    """A handler that notes what it was given, in order, and when it ran beside others."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.numbers: list[object] = []
        self.most_at_once = 0
        self._seconds = seconds
        self._running = 0

    @property
    def handler(self) -> Handler:
        return Handler("test.record", self._run)

    async def _run(self, payload: object, context: JobContext) -> None:
        assert isinstance(payload, dict)
        self.numbers.append(payload.get("number"))
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        await asyncio.sleep(self._seconds)
        self._running -= 1


@contextlib.asynccontextmanager
async def office(
    broker: BrokerUnderTest, dsn: str, directory: Path, *handlers: Handler, **overrides: object
) -> AsyncIterator[Engine]:
    """An engine that accepts work, as in the API."""
    settings = engine_settings(dsn, directory, **{**broker.names, **overrides})
    kinds = [*shipped_handlers(settings), *handlers]
    async with open_engine(settings, application="test-office", handlers=kinds) as engine:
        yield engine


@contextlib.asynccontextmanager
async def worker(
    broker: BrokerUnderTest, dsn: str, directory: Path, handlers: Iterable[Handler], **overrides: object
) -> AsyncIterator[None]:
    """The wiring of `quire worker`, whole, on the test's loop."""
    settings = engine_settings(dsn, directory, **{**broker.names, **overrides})
    stops: list[Callable[[], None]] = []
    kinds = [*shipped_handlers(settings), *handlers]
    task = asyncio.create_task(run_worker(settings, kinds, stopped_by=stops.append))
    try:
        await _until_started(stops, task)
        yield
    finally:
        for stop in stops * 2:
            stop()
        await asyncio.wait_for(task, 30)


async def _until_started(stops: list[Callable[[], None]], task: asyncio.Task[None]) -> None:
    deadline = time.monotonic() + 30
    while not stops and not task.done():
        assert time.monotonic() < deadline, "the worker did not start"
        await asyncio.sleep(0.01)

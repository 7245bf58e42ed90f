"""J15: what every broker does, and what no broker may do. One suite over all of them on real servers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.broker_servers import RedisServer, free_port
from tests.support.broker_setup import (
    BrokerUnderTest,
    Record,
    office,
    url_on,
    worker,
)
from tests.support.engine_fixture import (
    ended,
    enqueue,
    enqueue_one,
    job_of,
    run_sql,
    until,
)

from quire.entrypoints.brokers import open_messenger
from quire.jobs import JobRequest
from quire.jobs.application.brokers.message_broker import MessageBroker
from quire.jobs.domain.errors import BrokerUnavailableError
from quire.jobs.ports.v1.messenger import Message
from quire.runtime.settings import load_settings
from quire.runtime.telemetry import REGISTRY, start_span

PATIENCE_SECONDS = 30.0
KIND = "test.record"


def numbered(count: int, queue: str | None = None, first: int = 0) -> list[JobRequest]:
    return [JobRequest(KIND, {"number": first + number}, queue=queue) for number in range(count)]


async def test_accepted_jobs_are_each_done_once_although_nobody_polls(
    any_broker: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    record = Record()
    async with (
        office(any_broker, dsn, tmp_path, record.handler) as engine,
        worker(any_broker, dsn, tmp_path, [record.handler]),
        worker(any_broker, dsn, tmp_path, [record.handler]),
    ):
        one = await enqueue(engine, *numbered(1))
        await ended(engine, one[0].job_id, seconds=PATIENCE_SECONDS)
        many = await enqueue(engine, *numbered(40, first=1))
        jobs = await ended(engine, *(receipt.job_id for receipt in many), seconds=PATIENCE_SECONDS)
    assert {job.state for job in jobs} == {"succeeded"}
    assert sorted(map(str, record.numbers)) == sorted(map(str, range(41)))


async def test_smaller_classes_go_first_whatever_order_messages_come_in(
    any_broker: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    """Inside a class a job may overtake one whose message came too early, while a smaller class was due."""
    record = Record()
    async with office(any_broker, dsn, tmp_path, record.handler) as engine:
        receipts = await enqueue(engine, *numbered(4, queue="large"))
        receipts += await enqueue(engine, *numbered(4, queue="default", first=10))
        async with worker(any_broker, dsn, tmp_path, [record.handler], WORKER_CONCURRENCY=1):
            await ended(engine, *(receipt.job_id for receipt in receipts), seconds=PATIENCE_SECONDS)
    assert set(record.numbers[:4]) == {10, 11, 12, 13}
    assert sorted(map(str, record.numbers[4:])) == ["0", "1", "2", "3"]


async def test_a_paused_queue_keeps_its_jobs_and_gives_them_when_it_goes_on(
    any_broker: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    record = Record()
    async with (
        office(any_broker, dsn, tmp_path, record.handler) as engine,
        worker(any_broker, dsn, tmp_path, [record.handler]),
    ):
        await engine.board.pause("default", "ann")
        held = await enqueue_one(engine, KIND, {"number": 1}, queue="default")
        free = await enqueue_one(engine, KIND, {"number": 2}, queue="medium")
        await ended(engine, free, seconds=PATIENCE_SECONDS)
        assert (await job_of(engine, held)).state == "queued"
        await engine.board.resume("default")
        engine.broker.announce("work")
        await ended(engine, held, seconds=PATIENCE_SECONDS)


async def test_a_concurrency_cap_holds_for_jobs_that_messages_name(
    any_broker: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    record = Record(seconds=0.05)
    async with (
        office(any_broker, dsn, tmp_path, record.handler) as engine,
        worker(any_broker, dsn, tmp_path, [record.handler], WORKER_CONCURRENCY=20),
    ):
        receipts = await enqueue(engine, *numbered(12, queue="narrow"))
        await ended(engine, *(receipt.job_id for receipt in receipts), seconds=PATIENCE_SECONDS)
    assert record.most_at_once <= 4
    assert len(record.numbers) == 12


async def test_retries_and_chains_go_on_without_polls(
    any_broker: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    async with (
        office(any_broker, dsn, tmp_path) as engine,
        worker(any_broker, dsn, tmp_path, []),
    ):
        failing = await enqueue_one(engine, "jobs.fail", {"code": "TRANSIENT", "until_attempt": 2})
        first = await enqueue_one(engine)
        second = await enqueue_one(engine, depends_on=(first,))
        await ended(engine, failing, first, second, seconds=PATIENCE_SECONDS)
        assert (await job_of(engine, failing)).attempt > 1


# --- message systems


async def test_a_message_carries_the_id_and_the_trace_and_nothing_else(
    message_system: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    async with office(message_system, dsn, tmp_path) as engine:
        with start_span("request") as span:
            job_id = await enqueue_one(engine, "jobs.echo", {"confidential": "the payload"})
        await until(lambda: _holds(engine.broker, 1), PATIENCE_SECONDS)
        raw = b"".join(message_system.raw_messages("default"))
    assert str(job_id).encode() in raw
    assert span.trace_id.encode() in raw
    assert b"confidential" not in raw
    assert b"jobs.echo" not in raw
    assert b"acme" not in raw


async def test_messages_that_come_twice_and_out_of_order_do_no_work_twice(
    message_system: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    record = Record(seconds=0.02)
    async with office(message_system, dsn, tmp_path, record.handler) as engine:
        receipts = await enqueue(engine, *numbered(30))
        ids = [receipt.job_id for receipt in receipts]
        assert isinstance(engine.broker, MessageBroker)
        again = [Message(job_id, "default") for job_id in reversed(ids)]
        await engine.broker.publish(again, cause="test")
        async with worker(message_system, dsn, tmp_path, [record.handler]):
            await ended(engine, *ids, seconds=PATIENCE_SECONDS)
            await engine.broker.publish(again, cause="test")
            last = await enqueue_one(engine, KIND, {"number": "last"})
            await ended(engine, last, seconds=PATIENCE_SECONDS)
            await until(lambda: _holds(engine.broker, 0), PATIENCE_SECONDS)
        assert await run_sql(engine, "SELECT max(fence), max(attempt) FROM jobs") == [(1, 1)]
    assert len(record.numbers) == 31


async def test_lost_messages_are_sent_again(
    message_system: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    record = Record()
    async with office(message_system, dsn, tmp_path, record.handler) as engine:
        receipts = await enqueue(engine, *numbered(10))
        await until(lambda: _holds(engine.broker, 10), PATIENCE_SECONDS)
        message_system.lose_messages()
        await until(lambda: _holds(engine.broker, 0), PATIENCE_SECONDS)
        async with worker(message_system, dsn, tmp_path, [record.handler], QUIRE_REPUBLISH_SEC=0.3):
            await ended(engine, *(receipt.job_id for receipt in receipts), seconds=PATIENCE_SECONDS)
    assert len(record.numbers) == 10


async def test_a_backlog_that_nobody_gets_to_is_not_sent_over_and_over(
    message_system: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    """The only worker serves another queue: its republisher looks again and again."""
    async with office(message_system, dsn, tmp_path) as engine:
        await enqueue(engine, *(JobRequest("jobs.noop", {"number": number}) for number in range(5)))
        await until(lambda: _holds(engine.broker, 5), PATIENCE_SECONDS)
        async with worker(message_system, dsn, tmp_path, [], WORKER_QUEUES="medium", QUIRE_REPUBLISH_SEC=0.1):
            for _ in range(3):
                before = await run_sql(
                    engine, "SELECT expires_at FROM role_leases WHERE role = 'republisher'"
                )
                await until(lambda before=before: _lease_moved(engine, before), PATIENCE_SECONDS)  # type: ignore[misc]
        assert await _holds(engine.broker, 5)
    message_system.lose_messages()


async def test_a_busy_worker_leaves_messages_to_an_idle_one(
    message_system: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    first, second = Record(seconds=60), Record(seconds=60)
    alone = {"WORKER_CONCURRENCY": 1}
    async with (
        office(message_system, dsn, tmp_path, first.handler) as engine,
        worker(message_system, dsn, tmp_path, [first.handler], **alone),
    ):
        await enqueue(engine, *numbered(1))
        await until(lambda: _has_begun(first), PATIENCE_SECONDS)
        async with worker(message_system, dsn, tmp_path, [second.handler], **alone):
            await enqueue(engine, *numbered(1, first=1))
            await until(lambda: _has_begun(second), PATIENCE_SECONDS)
    assert first.numbers == [0]


async def test_rubbish_in_a_queue_stops_nobody(
    message_system: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    class Rubbish:
        def __str__(self) -> str:
            return "not an id"

    async with (
        office(message_system, dsn, tmp_path) as engine,
        worker(message_system, dsn, tmp_path, []),
    ):
        assert isinstance(engine.broker, MessageBroker)
        await engine.broker.publish([Message(Rubbish(), "default")], cause="test")  # type: ignore[arg-type]
        await ended(engine, await enqueue_one(engine), seconds=PATIENCE_SECONDS)


async def test_a_messenger_without_its_server_says_so_at_once(message_system: BrokerUnderTest) -> None:
    port = free_port()
    gone = f":{port}".join(message_system.url.rsplit(f":{_port(message_system)}", 1))
    messenger = open_messenger(load_settings(QUIRE_BROKER_URL=gone))
    assert messenger is not None
    message = Message(uuid4(), "default")
    for call in (messenger.ping, lambda: messenger.publish([message]), lambda: messenger.depth("default")):
        with pytest.raises(BrokerUnavailableError):
            await asyncio.wait_for(asyncio.to_thread(call), 10)


async def test_nothing_stays_at_the_broker_when_all_work_is_done(
    message_system: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    """Not even after a worker was too busy for what it had fetched."""
    record = Record(seconds=0.3)
    before, accepted = _dramatiq_messages(), _accepted_messages()
    async with office(message_system, dsn, tmp_path, record.handler) as engine:
        async with (
            worker(message_system, dsn, tmp_path, [record.handler], WORKER_CONCURRENCY=1),
            worker(message_system, dsn, tmp_path, [record.handler], WORKER_CONCURRENCY=4),
        ):
            receipts = await enqueue(engine, *numbered(20))
            await ended(engine, *(receipt.job_id for receipt in receipts), seconds=PATIENCE_SECONDS)
            # What a worker has fetched and not accepted yet would go back when it stops.
            await until(lambda: _accepted_since(accepted, 20), PATIENCE_SECONDS)
        assert message_system.raw_messages("default") == []
    if message_system.name.startswith("dramatiq"):
        assert _dramatiq_messages() >= before + 20


# --- a broker that is down


@pytest.fixture(params=["dramatiq-redis", "rq-redis"])
def absent(request: pytest.FixtureRequest, tmp_path: Path) -> BrokerUnderTest:
    """Its server is not started yet."""
    server = RedisServer(tmp_path)
    return BrokerUnderTest(request.param, url_on(server, request.param), server)


async def test_a_required_broker_that_is_down_refuses_work_and_leaves_nothing_behind(
    absent: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    required = {"QUIRE_BROKER_REQUIRED": True} if absent.name == "dramatiq-redis" else {}
    async with office(absent, dsn, tmp_path, **required) as engine:
        assert engine.broker.required
        with pytest.raises(BrokerUnavailableError):
            await enqueue_one(engine)
        for table in ("jobs", "job_lanes", "job_events", "artifacts"):
            assert await run_sql(engine, f"SELECT count(*) FROM {table}") == [(0,)]
        assert absent.server is not None
        absent.server.start()
        try:
            await enqueue_one(engine)
        finally:
            absent.server.stop()


async def test_work_accepted_without_the_broker_is_delivered_when_it_is_back(
    absent: BrokerUnderTest, dsn: str, tmp_path: Path
) -> None:
    names = {"QUIRE_BROKER_REQUIRED": False, "QUIRE_REPUBLISH_SEC": 0.3}
    async with (
        office(absent, dsn, tmp_path, **names) as engine,
        worker(absent, dsn, tmp_path, [], **names),
    ):
        receipts = await enqueue(engine, *(JobRequest("jobs.noop", {"number": n}) for n in range(5)))
        assert {receipt.outcome for receipt in receipts} == {"created"}
        assert absent.server is not None
        absent.server.start()
        try:
            await ended(engine, *(receipt.job_id for receipt in receipts), seconds=PATIENCE_SECONDS)
        finally:
            absent.server.stop()


def _accepted_messages() -> float:
    return REGISTRY.get_sample_value("quire_broker_received_total", {"outcome": "accepted"}) or 0.0


async def _accepted_since(before: float, count: int) -> bool:
    return _accepted_messages() >= before + count


def _dramatiq_messages() -> float:
    labels = {"queue_name": "quire.default", "actor_name": "quire.deliver"}
    return REGISTRY.get_sample_value("dramatiq_messages_total", labels) or 0.0


async def _holds(broker: object, count: int) -> bool:
    assert isinstance(broker, MessageBroker)
    return await broker.depth("default") == count


async def _has_begun(record: Record) -> bool:
    return bool(record.numbers)


async def _lease_moved(engine: object, before: object) -> bool:
    return await run_sql(engine, "SELECT expires_at FROM role_leases WHERE role = 'republisher'") != before  # type: ignore[arg-type]


def _port(broker: BrokerUnderTest) -> int:
    assert broker.server is not None
    return broker.server.port

"""Workers die, the broker dies and forgets, messages come twice and in any order: every job still ends once."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import dramatiq
import pytest
import redis
import rq
from dramatiq.brokers.redis import RedisBroker
from rq.job import Callback, Job
from tests.support.auditor import Auditor, all_ended
from tests.support.broker_servers import RabbitServer, RedisServer
from tests.support.broker_servers import rabbit_server as rabbit_server
from tests.support.broker_site import OWN, BrokerSite, broker_site, repeat_messages, slay
from tests.support.load import Enqueuer, engine_door, enqueue
from tests.support.processes import REPOSITORY, holds
from tests.support.records import each_reaches
from tests.support.waiting import eventually

from quire.jobs import JobRequest
from quire.jobs.infrastructure.dramatiq.message_form import ACTOR
from quire.jobs.infrastructure.rq.message_form import FUNCTION

ROUNDS = 2
JOBS = 200
SOAK_ROUNDS = 20
SOAK_JOBS = 5_000


@pytest.fixture(params=list(OWN))
def place(request: pytest.FixtureRequest, dsn: str, tmp_path: Path) -> Iterator[BrokerSite]:
    rabbit: RabbitServer | None = None
    if request.param == "dramatiq-rabbitmq":
        rabbit = request.getfixturevalue("rabbit_server")
    # So many kills hit some jobs more often than three times.
    with broker_site(request.param, dsn, tmp_path / "site", rabbit, max_crashes=100) as place:
        yield place


async def hurt_and_audit(place: BrokerSite, rounds: int, jobs: int) -> None:
    """Each round kills a worker of each command line, wipes the broker, kills it, and repeats all messages."""
    workers = [place.start_plain(), place.start_own()]
    starts = [place.start_plain, place.start_own]
    async with place.site.engine() as engine:
        await asyncio.gather(*(worker.started() for worker in workers))
        with Enqueuer(engine_door(place.site), batch=20, pause_seconds=0.3) as client:
            for number in range(rounds):
                for index in range(len(workers)):
                    await holds(engine, await workers[index].started(), 1)
                    slay(workers[index])
                    workers[index] = starts[index]()
                if isinstance(place.server, RedisServer):
                    place.server.wipe()
                if number % 2:
                    await asyncio.to_thread(place.server.restart)
                await repeat_messages(engine)
                await asyncio.sleep(random.uniform(0, 0.2))
                # RQ's own worker ends when its Redis does; whoever runs it starts it again.
                for index, worker in enumerate(workers):
                    if worker.exit_code is not None:
                        workers[index] = starts[index]()
            await client.reaches(jobs)
        await all_ended(engine, within_seconds=120)
        await repeat_messages(engine)
        report = await Auditor(engine, place.site.storage_dir, client.accepted).report()
        print(f"{place.system}: {len(client.accepted)} jobs, {report.reclaims} reclaims")
        assert report.states == {"succeeded": len(client.accepted)}, report.errors
        assert len(client.accepted) >= jobs


async def test_every_job_ends_once_while_workers_and_their_broker_die(place: BrokerSite) -> None:
    await hurt_and_audit(place, ROUNDS, JOBS)


@pytest.mark.soak
async def test_every_job_ends_once_through_a_long_series_of_deaths(place: BrokerSite) -> None:
    await hurt_and_audit(place, SOAK_ROUNDS, SOAK_JOBS)


@pytest.mark.parametrize("place", ["rq-redis"], indirect=True)
async def test_rqs_worker_calls_no_function_but_ours(place: BrokerSite) -> None:
    forbidden = place.site.root / "made-by-a-message"
    assert isinstance(place.server, RedisServer)
    with redis.Redis.from_url(place.server.url) as client:
        rq.Queue("quire.default", connection=client, serializer="json").enqueue("os.mkdir", str(forbidden))
    async with place.site.engine() as engine:
        worker = place.start_own()
        await worker.said("message_not_ours", within_seconds=60)
        (job_id,) = await enqueue(engine, JobRequest("jobs.noop", {}))
        await each_reaches(engine, [job_id], lambda job: job.state == "succeeded", "a success")
    assert not forbidden.exists()


@pytest.mark.parametrize("place", ["rq-redis"], indirect=True)
async def test_rqs_worker_calls_no_callback_that_redis_names(place: BrokerSite, tmp_path: Path) -> None:
    """Messages of our own form that name callbacks, and one that RQ takes for abandoned: its maintenance at the start
    would call the failure callback."""
    modules, made = tmp_path / "modules", tmp_path / "made-by-a-callback"
    modules.mkdir()
    (modules / "forged_callback.py").write_text(CALLBACK)
    assert isinstance(place.server, RedisServer)
    with redis.Redis.from_url(place.server.url) as client:
        queue = rq.Queue("quire.default", connection=client, serializer="json")
        abandoned = forged_message(queue, str(uuid4()))
        client.lrem(queue.key, 0, abandoned.id)
        client.zadd(queue.started_job_registry.key, {f"{abandoned.id}:1": 1})
        messages = [forged_message(queue, argument) for argument in (str(uuid4()), "not an id")]
        python_path = os.pathsep.join([str(REPOSITORY), str(modules)])
        worker = place.yard.start(OWN[place.system], PYTHONPATH=python_path, FORGED_CALLBACK_MARK=made)
        await worker.started()
        async with place.site.engine() as engine:
            (job_id,) = await enqueue(engine, JobRequest("jobs.noop", {}))
            await each_reaches(engine, [job_id], lambda job: job.state == "succeeded", "a success")
        # RQ takes one after the other: with the last message gone, it is done with the forged ones.
        await eventually(lambda: is_empty(queue), "an empty queue")
        worker.send(signal.SIGTERM)
        await worker.ended()
        assert not made.exists()
        assert client.exists(*(message.key for message in messages)) == 0
        assert client.zcard(queue.started_job_registry.key) == 0


CALLBACK = """
import os, pathlib
pathlib.Path(os.environ["FORGED_CALLBACK_MARK"]).touch()

def call(*_):
    pass
"""


def forged_message(queue: rq.Queue, argument: str) -> Job:
    callback = Callback("forged_callback.call")
    return queue.enqueue(FUNCTION, argument, on_success=callback, on_failure=callback, on_stopped=callback)


async def is_empty(queue: rq.Queue) -> bool:
    return queue.count == 0


@pytest.mark.parametrize("place", ["dramatiq-redis"], indirect=True)
async def test_dramatiqs_worker_follows_no_callback_or_pipeline_of_a_message(place: BrokerSite) -> None:
    assert isinstance(place.server, RedisServer)
    next_step = {"queue_name": "foreign", "actor_name": ACTOR, "args": (), "kwargs": {}, "options": {}}
    options = {"on_success": ACTOR, "on_failure": ACTOR, "pipe_target": next_step, "throws": "os.mkdir"}
    forged = [
        dramatiq.Message("quire.default", actor, (str(uuid4()), *more), {}, options)
        for actor, more in ((ACTOR, ()), (ACTOR, ("too much",)), ("os.mkdir", ()))
    ]
    sender = RedisBroker(url=place.server.url, middleware=[])  # type: ignore[no-untyped-call]
    sender.declare_queue("quire.default")
    for message in forged:
        sender.enqueue(message)
    async with place.site.engine() as engine:
        worker = place.start_own()
        await worker.said("message_not_ours", within_seconds=60)
        (job_id,) = await enqueue(engine, JobRequest("jobs.noop", {}))
        await each_reaches(engine, [job_id], lambda job: job.state == "succeeded", "a success")
    await eventually(lambda: is_drained(sender), "an empty queue")
    # What a callback or a pipeline would have sent on.
    assert sender.client.keys("dramatiq:foreign*") == []
    sender.close()  # type: ignore[no-untyped-call]


async def is_drained(broker: RedisBroker) -> bool:
    """Nothing waits and nothing is held by a worker."""
    return not broker.client.exists("dramatiq:quire.default", "dramatiq:quire.default.msgs")


async def test_a_worker_of_another_command_line_stops_as_quire_worker_does(place: BrokerSite) -> None:
    """SIGTERM: what runs longer than the grace goes back with its attempt restored, and someone else ends it."""
    async with place.site.engine() as engine:
        own = place.yard.start(OWN[place.system], WORKER_SHUTDOWN_GRACE_SEC=0.2)
        worker_id = await own.started()
        (job_id,) = await enqueue(engine, JobRequest("jobs.sleep", {"seconds": 30}))
        await holds(engine, worker_id, 1)
        own.send(signal.SIGTERM)
        await own.ended()
        await each_reaches(
            engine, [job_id], lambda job: job.state == "queued" and job.attempt == 0, "hand-back"
        )

"""J9, J10: breakers and throttles that all workers share through the database."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from uuid import UUID, uuid4

from tests.support.engine_fixture import (
    RETRIES,
    claim,
    claim_one,
    complete,
    ended,
    engine_at_work,
    enqueue,
    enqueue_one,
    job_of,
    opened_engine,
    run_sql,
    until,
    write_config,
)

from quire.entrypoints.engine import Engine
from quire.jobs import Handler, JobContext, JobError, JobRequest
from quire.jobs.application.execution.settle_failure import settle_failure
from quire.jobs.domain.breaker import BreakerState
from quire.jobs.domain.failure_advice import NO_ADVICE, FailureAdvice
from quire.jobs.domain.lease import Lease
from quire.jobs.domain.outcome import Failed, HandedBack
from quire.jobs.domain.throttle import IntegrationPolicy
from quire.jobs.ports.v1.lease_store import DeadLetter, Retry

ANN = uuid4()


def gateway(engine: Engine) -> IntegrationPolicy:
    return engine.policies.integrations["gateway"]


async def breaker_of(engine: Engine, name: str = "gateway") -> BreakerState:
    return next(status.breaker for status in await engine.gate.status() if status.name == name)


async def fill(engine: Engine, queue: str, count: int, tenant: str = "acme") -> None:
    await enqueue(engine, *[JobRequest("jobs.noop", {}, queue=queue, unique=False)] * count, tenant=tenant)


async def open_breaker(engine: Engine, seconds_ago: float = 0.0) -> None:
    await run_sql(
        engine,
        "UPDATE integrations SET breaker = 'open', changed_at = now() - make_interval(secs => $1)"
        " WHERE name = 'gateway'",
        seconds_ago,
    )


async def test_a_breaker_opens_at_its_ratio_and_not_before_its_minimum_of_calls(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        states = [await engine.gate.record(gateway(engine), failed=True, probe=False) for _ in range(3)]
        assert states == ["closed", "closed", "open"]
        await run_sql(engine, "UPDATE integrations SET breaker = 'closed'")
        await run_sql(engine, "DELETE FROM integration_outcomes")
        mixed = [await engine.gate.record(gateway(engine), failed=n % 3 == 2, probe=False) for n in range(12)]
        assert set(mixed) == {"closed"}


async def test_failures_older_than_the_window_do_not_count(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        for _ in range(2):
            await engine.gate.record(gateway(engine), failed=True, probe=False)
        await run_sql(engine, "UPDATE integration_outcomes SET bucket_at = bucket_at - interval '61 s'")
        assert await engine.gate.record(gateway(engine), failed=True, probe=False) == "closed"


async def test_many_workers_outcomes_open_one_shared_breaker(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as one, opened_engine(dsn, tmp_path) as two:
        records = [e.gate.record(gateway(e), failed=True, probe=False) for e in (one, two) * 5]
        await asyncio.gather(*records)
        assert await breaker_of(one) == await breaker_of(two) == "open"
        counts = await run_sql(one, "SELECT sum(failures)::int FROM integration_outcomes")
    assert counts == [(10,)]


async def test_an_open_breaker_holds_its_queue_and_says_when_to_come_again(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "gateway", 3)
        await open_breaker(engine)
        held = await claim(engine, ANN, "gateway")
        assert held.leases == []
        assert held.retry_after_seconds is not None
        assert 0 < held.retry_after_seconds <= 0.5
        await enqueue_one(engine)
        assert len((await claim(engine, ANN, "default", "gateway")).leases) == 1


async def test_racing_workers_get_one_probe_between_them(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path, QUIRE_DATABASE_POOL_MAX=12) as engine:
        await fill(engine, "gateway", 20)
        await open_breaker(engine, seconds_ago=60)
        claims = await asyncio.gather(*(claim(engine, uuid4(), "gateway", limit=5) for _ in range(8)))
        leases = [lease for taken in claims for lease in taken.leases]
        assert [lease.probe for lease in leases] == [True]
        assert await breaker_of(engine) == "half_open"
        assert (await claim(engine, ANN, "gateway")).leases == []


async def test_a_probe_that_succeeds_closes_the_breaker_and_opens_the_queue(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "gateway", 5)
        await open_breaker(engine, seconds_ago=60)
        await claim_one(engine, ANN, "gateway")
        assert await engine.gate.record(gateway(engine), failed=False, probe=True) == "closed"
        assert len((await claim(engine, ANN, "gateway")).leases) == 4


async def test_a_probe_that_fails_opens_it_again_and_burns_no_attempt(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "gateway", 2)
        await open_breaker(engine, seconds_ago=60)
        probe = await claim_one(engine, ANN, "gateway")
        verdict = await _settle(engine, probe)
        assert isinstance(verdict, HandedBack)
        await engine.leases.hand_back(ANN, [verdict])
        assert await breaker_of(engine) == "open"
        assert (await job_of(engine, probe.job_id)).attempt == 0
        assert (await claim(engine, ANN, "gateway")).leases == []


async def test_a_late_failure_of_an_older_job_does_not_decide_for_the_probe(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "gateway", 2)
        late = await claim_one(engine, ANN, "gateway")
        await open_breaker(engine, seconds_ago=60)
        await claim_one(engine, ANN, "gateway")
        assert isinstance(await _settle(engine, late), HandedBack)
        assert await breaker_of(engine) == "half_open"


async def test_a_fault_of_the_jobs_own_says_nothing_about_the_integration(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "gateway", 5)
        for lease in (await claim(engine, ANN, "gateway")).leases:
            assert isinstance(await _settle(engine, lease, "BAD_INPUT"), DeadLetter)
        assert await breaker_of(engine) == "closed"


async def test_an_outage_holds_the_work_and_all_of_it_is_done_when_it_is_over(
    dsn: str, tmp_path: Path
) -> None:
    """While the gateway is down only the calls that opened the breaker and single probes reach it; afterwards the
    breaker closes by itself."""
    up = asyncio.Event()
    calls_while_down = 0

    async def call(payload: object, context: JobContext) -> None:
        nonlocal calls_while_down
        if not up.is_set():
            calls_while_down += 1
            raise JobError("502", code="GATEWAY_DOWN")

    rule = "\n  test.call: [{codes: [GATEWAY_DOWN], attempts: 3, base_seconds: 0.01, jitter: none}]\n"
    config = write_config(tmp_path, retries=RETRIES + rule)
    async with engine_at_work(
        dsn,
        tmp_path,
        handlers=[Handler("test.call", call)],
        QUIRE_CONFIG_DIR=str(config),
        WORKER_CONCURRENCY=4,
    ) as engine:
        request = JobRequest("test.call", {}, queue="gateway", unique=False)
        ids = [receipt.job_id for receipt in await enqueue(engine, *[request] * 40)]

        async def opened() -> bool:
            return await breaker_of(engine) == "open"

        async def probed_twice() -> bool:
            return calls_while_down >= calls_to_open + 2

        await until(opened)
        calls_to_open, opened_at = calls_while_down, time.monotonic()
        await until(probed_twice)
        # What was under way when it opened, and since then one probe each time it was open for long enough.
        open_times = (time.monotonic() - opened_at) / 0.5
        assert calls_while_down - calls_to_open <= 4 + open_times + 1
        up.set()
        jobs = await ended(engine, *ids)
        assert await breaker_of(engine) == "closed"
    assert {job.state for job in jobs} == {"succeeded"}
    assert max(job.attempt for job in jobs) <= 3


async def test_the_token_bucket_is_airtight_under_eight_racing_claimers(dsn: str, tmp_path: Path) -> None:
    """20 a second with a burst of 5, measured by the database's own clock."""
    async with opened_engine(dsn, tmp_path, QUIRE_DATABASE_POOL_MAX=12) as engine:
        await fill(engine, "metered", 200)
        began = time.monotonic()

        async def take() -> None:
            while time.monotonic() - began < 1.5:
                taken = await claim(engine, uuid4(), "metered", limit=3)
                assert taken.leases or taken.retry_after_seconds is not None
                await asyncio.sleep(min(0.05, taken.retry_after_seconds or 0.0))

        await asyncio.gather(*(take() for _ in range(8)))
        rows = await run_sql(
            engine,
            "SELECT count(*)::int, extract(epoch FROM max(at) - min(at))::float8"
            " FROM job_events WHERE to_state = 'running'",
        )
    count, seconds = rows[0]
    assert isinstance(count, int)
    assert isinstance(seconds, float)
    # Never more than the bucket gave; and not much less, or it would be no bucket but a wall.
    assert 5 + 20 * seconds * 0.7 <= count <= 5 + 20 * (seconds + 0.05)


async def test_waiting_for_a_token_burns_no_attempt(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        ids = [await enqueue_one(engine, queue="metered") for _ in range(15)]
        jobs = await ended(engine, *ids)
    assert {(job.state, job.attempt, job.retry_count) for job in jobs} == {("succeeded", 1, 0)}


async def test_the_cap_on_concurrency_is_airtight_under_eight_racing_claimers(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path, QUIRE_DATABASE_POOL_MAX=20) as engine:
        await fill(engine, "narrow", 60)
        claims = await asyncio.gather(*(claim(engine, uuid4(), "narrow", limit=3) for _ in range(8)))
        assert sum(len(taken.leases) for taken in claims) == 4
        taken = [lease for claimed in claims for lease in claimed.leases]
        await run_sql(
            engine, "UPDATE jobs SET lease_expires_at = now() - interval '1 s' WHERE state = 'running'"
        )
        assert (await engine.leases.reclaim(100)).total == len(taken)
        most = await _drain_counting(engine, "narrow")
        assert await run_sql(engine, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") == [(60,)]
    assert 1 < most <= 4


async def test_two_queues_of_one_integration_share_its_cap(dsn: str, tmp_path: Path) -> None:
    queues = "queues: {default: {}, one: {integration: narrow}, two: {integration: narrow}}"
    kinds = "kinds: {jobs.noop: {queues: [one, two]}}"
    config = write_config(tmp_path, queues=f"version: 1\n{queues}\n{kinds}\n")
    async with opened_engine(dsn, tmp_path, QUIRE_CONFIG_DIR=str(config)) as engine:
        await fill(engine, "one", 3)
        await fill(engine, "two", 3)
        claims = await asyncio.gather(
            *(claim(engine, uuid4(), "one", "two", limit=4) for _ in range(4)),
            *(claim(engine, uuid4(), "two", "one", limit=4) for _ in range(4)),
        )
    assert sum(len(taken.leases) for taken in claims) == 4


async def _settle(
    engine: Engine, lease: Lease, code: str = "GATEWAY_DOWN", advice: FailureAdvice = NO_ADVICE
) -> object:
    failed = Failed(lease, 1, code, "x", advice)
    return await settle_failure(failed, engine.policies, engine.gate, lambda: 0.5)


async def _drain_counting(engine: Engine, queue: str) -> int:
    """Eight claimers take and finish jobs until none is left; the most that ran at once, as the database saw it."""
    most = 0
    left = "SELECT 1 FROM jobs WHERE state IN ('queued','running') LIMIT 1"

    async def work(worker_id: UUID) -> None:
        nonlocal most
        while await run_sql(engine, left):
            leases = (await claim(engine, worker_id, queue, limit=2)).leases
            running = (await run_sql(engine, "SELECT count(*) FROM jobs WHERE state = 'running'"))[0][0]
            assert isinstance(running, int)
            most = max(most, running)
            if leases:
                await complete(engine, worker_id, *leases)

    await asyncio.gather(*(work(uuid4()) for _ in range(8)))
    return most


async def test_an_outage_opens_the_breaker_with_its_first_failure_and_burns_no_attempt(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "gateway", 3)
        lease = await claim_one(engine, ANN, "gateway")
        verdict = await _settle(engine, lease, advice=FailureAdvice(outage=True))
        assert isinstance(verdict, HandedBack)
        await engine.leases.hand_back(ANN, [verdict])
        assert await breaker_of(engine) == "open"
        assert (await job_of(engine, lease.job_id)).attempt == 0


async def test_a_job_that_breaks_its_integration_is_not_the_only_one_that_probes(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "gateway", 3)
        probed = []
        for _ in range(4):
            await open_breaker(engine, seconds_ago=60)
            lease = await claim_one(engine, ANN, "gateway")
            verdict = await _settle(engine, lease)
            assert isinstance(verdict, HandedBack)
            await engine.leases.hand_back(ANN, [verdict])
            probed.append(lease.job_id)
    assert len(set(probed[:3])) == 3
    assert probed[3] == probed[0]


async def test_a_failure_that_calls_itself_final_is_not_tried_again(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await enqueue_one(engine, kind="jobs.fail", payload={"code": "TRANSIENT"})
        lease = await claim_one(engine, ANN, "default")
        assert isinstance(await _settle(engine, lease, "TRANSIENT"), Retry)
        verdict = await _settle(engine, lease, "TRANSIENT", advice=FailureAdvice(final=True))
        assert isinstance(verdict, DeadLetter)


async def test_a_retry_waits_for_as_long_as_the_other_side_asked(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await enqueue_one(engine, kind="jobs.fail", payload={"code": "TRANSIENT"})
        lease = await claim_one(engine, ANN, "default")
        verdict = await _settle(engine, lease, "TRANSIENT", advice=FailureAdvice(not_before_seconds=77))
        assert isinstance(verdict, Retry)
        assert verdict.delay_seconds == 77

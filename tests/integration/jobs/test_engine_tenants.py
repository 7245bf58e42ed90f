"""J11: tenants take turns, and none gets more than its share."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.engine_fixture import (
    claim,
    complete,
    enqueue,
    enqueue_one,
    opened_engine,
    run_sql,
    write_config,
)

from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest
from quire.jobs.domain.errors import TenantQuotaError

ANN = uuid4()


async def fill(engine: Engine, queue: str, tenant: str, count: int) -> None:
    await enqueue(engine, *[JobRequest("jobs.noop", {}, queue=queue, unique=False)] * count, tenant=tenant)


async def test_a_flood_of_five_thousand_does_not_delay_another_tenants_first_job(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "fair", "flood", 5000)
        assert len((await claim(engine, ANN, "fair", limit=50)).leases) == 50
        await fill(engine, "fair", "small", 1)
        next_one = (await claim(engine, ANN, "fair", limit=1)).leases
    assert [lease.tenant_id for lease in next_one] == ["small"]


async def test_tenants_of_a_fair_queue_take_turns(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        for tenant, count in (("aa", 20), ("bb", 10), ("cc", 3)):
            await fill(engine, "fair", tenant, count)
        rounds = [
            Counter(lease.tenant_id for lease in (await claim(engine, ANN, "fair", limit=6)).leases)
            for _ in range(3)
        ]
    assert rounds[0] == {"aa": 2, "bb": 2, "cc": 2}
    assert rounds[1]["cc"] == 1
    assert abs(rounds[1]["aa"] - rounds[1]["bb"]) <= 1
    assert rounds[2] == {"aa": 3, "bb": 3}


async def test_inside_a_tenant_the_oldest_goes_first(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        ids = [await enqueue_one(engine, queue="fair", tenant="aa") for _ in range(6)]
        taken = [(await claim(engine, ANN, "fair", limit=2)).leases for _ in range(3)]
    assert [lease.job_id for leases in taken for lease in leases] == ids


async def test_without_a_fair_rule_the_oldest_goes_first_whosever_it_is(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "default", "flood", 10)
        await fill(engine, "default", "small", 1)
        taken = (await claim(engine, ANN, limit=10)).leases
    assert {lease.tenant_id for lease in taken} == {"flood"}


async def test_the_running_quota_is_airtight_under_eight_racing_claimers(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path, QUIRE_DATABASE_POOL_MAX=12) as engine:
        await fill(engine, "capped", "aa", 20)
        await fill(engine, "capped", "bb", 20)
        claims = await asyncio.gather(*(claim(engine, uuid4(), "capped", limit=5) for _ in range(8)))
        leases = [lease for taken in claims for lease in taken.leases]
        assert Counter(lease.tenant_id for lease in leases) == {"aa": 3, "bb": 3}
        assert (await claim(engine, ANN, "capped")).leases == []


async def test_a_finished_job_makes_room_under_the_running_quota(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await fill(engine, "capped", "aa", 5)
        leases = (await claim(engine, ANN, "capped")).leases
        assert len(leases) == 3
        await complete(engine, ANN, leases[0])
        assert len((await claim(engine, ANN, "capped")).leases) == 1


async def test_the_queued_quota_is_airtight_under_racing_requests(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        request = JobRequest("jobs.noop", {}, queue="quota", unique=False)
        answers = await asyncio.gather(
            *(enqueue(engine, request, tenant="aa") for _ in range(25)), return_exceptions=True
        )
        refused = [answer for answer in answers if isinstance(answer, BaseException)]
        assert await run_sql(engine, "SELECT count(*) FROM jobs") == [(10,)]
        assert len(await enqueue(engine, request, tenant="bb")) == 1
    assert len(refused) == 15
    assert {type(error) for error in refused} == {TenantQuotaError}
    assert all(error.retryable for error in refused if isinstance(error, TenantQuotaError))


async def test_a_batch_over_the_queued_quota_is_refused_whole(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        with pytest.raises(TenantQuotaError):
            await fill(engine, "quota", "aa", 11)
        assert await run_sql(engine, "SELECT count(*) FROM jobs") == [(0,)]
        await fill(engine, "quota", "aa", 10)
        await claim(engine, ANN, "quota", limit=4)
        await fill(engine, "quota", "aa", 4)


async def test_a_full_quota_does_not_refuse_work_that_is_already_there(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        requests = [JobRequest("jobs.noop", {"n": n}, queue="quota") for n in range(10)]
        first = await enqueue(engine, *requests)
        again = await enqueue(engine, requests[3])
        assert (again[0].outcome, again[0].job_id) == ("existing", first[3].job_id)
        with pytest.raises(TenantQuotaError):
            await enqueue(engine, JobRequest("jobs.noop", {"n": 99}, queue="quota"))


@pytest.mark.parametrize("policy", ["{fair: tenants}", "{tenant_quota: {running: 2}}"])
async def test_work_queued_before_its_queue_got_tenant_rules_is_still_done(
    dsn: str, tmp_path: Path, policy: str
) -> None:
    kinds = "kinds: {jobs.noop: {queue: lane}}"
    plain = write_config(tmp_path, queues=f"version: 1\nqueues: {{default: {{}}, lane: {{}}}}\n{kinds}\n")
    ruled = write_config(tmp_path, queues=f"version: 1\nqueues: {{default: {{}}, lane: {policy}}}\n{kinds}\n")
    async with opened_engine(dsn, tmp_path, QUIRE_CONFIG_DIR=str(plain)) as engine:
        before = await enqueue_one(engine, queue="lane")
        child = await enqueue_one(engine, queue="lane")
        waiting = await enqueue_one(engine, queue="lane", depends_on=(child,))
    async with opened_engine(dsn, tmp_path, QUIRE_CONFIG_DIR=str(ruled)) as engine:
        first = (await claim(engine, ANN, "lane")).leases
        assert [lease.job_id for lease in first] == [before, child]
        await complete(engine, ANN, *first)
        assert [lease.job_id for lease in (await claim(engine, ANN, "lane")).leases] == [waiting]


async def test_waiting_jobs_count_towards_the_queued_quota_and_their_release_changes_no_count(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        parent = await enqueue_one(engine, tenant="aa")
        waiting = JobRequest("jobs.noop", {}, queue="quota", depends_on=(parent,), unique=False)
        await enqueue(engine, *[waiting] * 10, tenant="aa")
        for request in (waiting, JobRequest("jobs.noop", {}, queue="quota", unique=False)):
            with pytest.raises(TenantQuotaError):
                await enqueue(engine, request, tenant="aa")
        await complete(engine, ANN, *(await claim(engine, ANN)).leases)
        assert await run_sql(engine, "SELECT count(*) FROM jobs WHERE state = 'queued'") == [(10,)]
        with pytest.raises(TenantQuotaError):
            await fill(engine, "quota", "aa", 1)
        assert len((await claim(engine, ANN, "quota", limit=3)).leases) == 3
        await fill(engine, "quota", "aa", 3)
        with pytest.raises(TenantQuotaError):
            await fill(engine, "quota", "aa", 1)


async def test_the_queued_quota_is_airtight_when_waiting_and_ready_jobs_race(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        parent = await enqueue_one(engine, tenant="aa")
        ready = JobRequest("jobs.noop", {}, queue="quota", unique=False)
        waiting = JobRequest("jobs.noop", {}, queue="quota", depends_on=(parent,), unique=False)
        later = JobRequest(
            "jobs.noop", {}, queue="quota", unique=False, run_at=datetime.now(UTC) + timedelta(hours=1)
        )
        answers = await asyncio.gather(
            *(enqueue(engine, [ready, waiting, later][n % 3], tenant="aa") for n in range(30)),
            return_exceptions=True,
        )
        stored = await run_sql(engine, "SELECT count(*) FROM jobs WHERE queue = 'quota'")
    refused = [type(answer) for answer in answers if isinstance(answer, BaseException)]
    assert stored == [(10,)]
    assert refused == [TenantQuotaError] * 20

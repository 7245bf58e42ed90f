"""J11, seed 004 §1: one order by class and age over all queues a worker serves, gates or not, as shipped."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.support.engine_fixture import (
    claim,
    enqueue,
    opened_engine,
    run_sql,
    submission,
    write_config,
)

from quire.entrypoints.engine import Engine
from quire.entrypoints.shipped import shipped_dir
from quire.jobs import JobRequest
from quire.jobs.domain.lease import Lease

ANN = uuid4()
SHIPPED = {"QUIRE_CONFIG_DIR": str(shipped_dir("config"))}
# One gated queue of each sort between two open ones; every kind may go everywhere.
MIXED = """
version: 1
queues:
  default: {}
  other: {}
  fair: {fair: tenants}
  capped: {tenant_quota: {running: 1}}
  narrow: {integration: narrow}
kinds:
  jobs.noop: {queues: [default, other, fair, capped, narrow]}
"""


async def add(
    engine: Engine,
    kind: str = "jobs.noop",
    count: int = 1,
    size_class: str = "small",
    queue: str | None = None,
) -> list[UUID]:
    request = JobRequest(kind, {}, queue=queue, size_class=size_class, unique=False)
    return [receipt.job_id for receipt in await enqueue(engine, *[request] * count)]


async def take(engine: Engine, limit: int, *queues: str) -> list[UUID]:
    """One claim of a worker that serves these queues, or all."""
    return [lease.job_id for lease in await leases_of(engine, limit, *queues)]


async def leases_of(engine: Engine, limit: int, *queues: str) -> list[Lease]:
    return (await claim(engine, ANN, *(queues or engine.policies.queues.queues), limit=limit)).leases


async def test_the_oldest_conversion_goes_before_four_hundred_open_jobs(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path, **SHIPPED) as engine:
        conversion = await add(engine, "convert.xml")
        noops = await add(engine, count=400)
        taken = await take(engine, 4)
        rest = [job_id for _ in range(100) for job_id in await take(engine, 4)]
    assert taken[0] == conversion[0]
    assert sorted(taken[1:] + rest) == sorted(noops)


async def test_a_small_conversion_goes_before_fifty_extra_large_jobs(dsn: str, tmp_path: Path) -> None:
    """Whatever their queue is called and however old they are."""
    async with opened_engine(dsn, tmp_path, **SHIPPED) as engine:
        await add(engine, "convert.xml", 25, "xlarge")
        await add(engine, "jobs.noop", 25, "xlarge")
        small = await add(engine, "convert.xml")
        assert (await take(engine, 4))[0] == small[0]


async def test_a_small_open_job_goes_before_larger_conversions_and_the_other_way_round(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path, **SHIPPED) as engine:
        wanted = {}
        for size_class in ("xlarge", "large", "medium", "small"):
            for kind in ("convert.xml", "jobs.noop"):
                wanted[kind, size_class] = await add(engine, kind, 2, size_class)
        taken = [await take(engine, 4) for _ in range(4)]
    for ids, size_class in zip(taken, ("small", "medium", "large", "xlarge"), strict=True):
        assert ids == wanted["convert.xml", size_class] + wanted["jobs.noop", size_class]


async def test_inside_a_class_age_alone_decides_between_open_and_gated_queues(
    dsn: str, tmp_path: Path
) -> None:
    config = write_config(tmp_path, queues=MIXED)
    async with opened_engine(dsn, tmp_path, QUIRE_CONFIG_DIR=str(config)) as engine:
        names = ("other", "narrow", "default", "fair", "other", "default", "narrow", "capped", "fair")
        ids = [(await add(engine, queue=name))[0] for name in names]
        taken = [job_id for _ in range(3) for job_id in await take(engine, 3)]
    assert taken == ids


async def test_what_a_gate_holds_back_leaves_its_room_to_others(dsn: str, tmp_path: Path) -> None:
    """A shut gate, a tenant at its cap, a paused queue: the worker's room is filled all the same."""
    config = write_config(tmp_path, queues=MIXED)
    async with opened_engine(dsn, tmp_path, QUIRE_CONFIG_DIR=str(config)) as engine:
        await add(engine, queue="narrow", count=10)
        await add(engine, queue="capped", count=10)
        await add(engine, queue="fair", count=10)
        await engine.board.pause("fair", "olga")
        noops = await add(engine, count=10)
        leases = await leases_of(engine, 12)
        more = await take(engine, 12)
    by_queue = [lease.queue for lease in leases]
    # Four at once is the integration's cap, one the tenant's.
    assert [by_queue.count(name) for name in ("narrow", "capped", "fair", "default")] == [4, 1, 0, 7]
    assert more == noops[7:]


async def test_a_tenant_at_its_cap_lets_no_larger_job_of_its_queue_overtake_others(
    dsn: str, tmp_path: Path
) -> None:
    config = write_config(tmp_path, queues=MIXED)
    async with opened_engine(dsn, tmp_path, QUIRE_CONFIG_DIR=str(config)) as engine:
        await add(engine, queue="capped", count=4)
        large = JobRequest("jobs.noop", {}, queue="capped", size_class="xlarge", unique=False)
        await enqueue(engine, large, tenant="beta")
        medium = await add(engine, size_class="medium", count=2)
        leases = await leases_of(engine, 3)
        last = await leases_of(engine, 3)
    assert [lease.job_id for lease in leases[1:]] == medium
    assert [(lease.queue, lease.tenant_id) for lease in last] == [("capped", "beta")]


async def test_racing_workers_over_open_and_gated_queues_take_each_job_once_and_leave_none(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path, **SHIPPED, QUIRE_DATABASE_POOL_MAX=12) as engine:
        for _ in range(10):
            await add(engine, count=20)
            await add(engine, "convert.xml", 10)
        taken: list[UUID] = []

        async def work() -> None:
            queues = engine.policies.queues.matching(["*"])
            while leases := (await engine.leases.claim(uuid4(), queues, 7, 60.0)).leases:
                taken.extend(lease.job_id for lease in leases)

        await asyncio.gather(*(work() for _ in range(6)))
        left = await run_sql(engine, "SELECT count(*) FROM job_lanes")
    assert left == [(0,)]
    assert len(taken) == len(set(taken)) == 300


@pytest.mark.parametrize("named", ["default", "render_pdf"])
async def test_a_message_does_not_carry_an_open_job_past_an_older_conversion(
    dsn: str, tmp_path: Path, named: str
) -> None:
    async with opened_engine(dsn, tmp_path, **SHIPPED) as engine:
        conversion = await add(engine, "convert.xml")
        jobs = [submission(queue=named) for _ in range(3)]
        await engine.submissions.insert(jobs)
        queues = engine.policies.queues.matching(["*"])
        wanted = [job.id for job in jobs[1:]]
        claimed = await engine.leases.claim_named(ANN, queues, wanted, 2, 60.0)
    assert [lease.job_id for lease in claimed.leases] == [conversion[0], jobs[0].id]

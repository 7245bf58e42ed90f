"""The plans of the statements that run all the time, on tables full of what is over or not yet due.

A plan that reads the whole table is correct and ruins everything, so it is a failure here.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeAlias
from uuid import UUID, uuid4

import asyncpg
import pytest

from quire.jobs.infrastructure.postgres.claims.gated_claim import INTEGRATIONS
from quire.jobs.infrastructure.postgres.job_board import SQL as BOARD
from quire.jobs.infrastructure.postgres.lease_store import SQL as LEASES
from quire.jobs.infrastructure.postgres.submission_store import SQL as SUBMISSIONS
from quire.runtime.database import BY_KEY

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Plan = dict[str, Any]

WORKER = uuid4()
MODES = ("force_custom_plan", "force_generic_plan")
FILL = """
INSERT INTO jobs (id, state, queue, kind, tenant_id, created_by, priority, payload, run_at, finished_at, expires_at,
                  attempt, fence, job_key, tenant_lane)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, 'default', 'jobs.noop', 't' || (n % 50),
       'ann', 0, '{}', now() + make_interval(secs => $3 + n / 1000.0), CASE WHEN $1 <> 'queued' THEN now() END,
       CASE WHEN $1 <> 'queued' THEN now() + interval '7 days' END, 1, 1,
       CASE WHEN n % 10 = 0 THEN decode(md5(n::text) || md5(n::text), 'hex') END, $4
FROM generate_series(1, $2::int) n
"""
LINE_UP = """
INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane)
SELECT queue, priority, run_at, id, tenant_id, tenant_lane FROM jobs WHERE state = 'queued'
"""
RUNNING = """
WITH moved AS (
    UPDATE jobs SET state = 'running', leased_by = $1, lease_expires_at = now() - interval '1 s', fence = 1
    WHERE id = ANY ($2::uuid[]) RETURNING id, queue, tenant_id
), taken AS (DELETE FROM job_lanes WHERE job_id = ANY ($2::uuid[]))
INSERT INTO job_running (job_id, queue, tenant_id) SELECT id, queue, tenant_id FROM moved
"""
DUE = """
WITH job AS (
    INSERT INTO jobs (id, state, queue, kind, tenant_id, created_by, priority, payload)
    SELECT gen_random_uuid(), 'queued', 'default', 'jobs.noop', 'acme', 'ann', 0, '{}'
    FROM generate_series(1, $1::int) RETURNING *
)
INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane)
SELECT queue, priority, run_at, id, tenant_id, tenant_lane FROM job RETURNING job_id
"""

DUE_LARGE = """
WITH job AS (
    INSERT INTO jobs (id, state, queue, kind, tenant_id, created_by, priority, payload, tenant_lane)
    SELECT gen_random_uuid(), 'queued', 'default', 'jobs.noop', 't1', 'ann', 2, '{}', true
    FROM generate_series(1, $1::int) RETURNING *
)
INSERT INTO job_lanes (queue, priority, run_at, job_id, tenant_id, tenant_lane)
SELECT queue, priority, run_at, id, tenant_id, tenant_lane FROM job
"""


@pytest.fixture
async def connection(dsn: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(dsn, server_settings={"jit": "off", **BY_KEY})
    yield connection
    await connection.close()


async def fill(
    connection: Connection,
    rows: int,
    *,
    state: str = "succeeded",
    ahead_seconds: float = 0.0,
    tenant_lane: bool = False,
    analyzed: bool = True,
) -> None:
    """Autovacuum would analyze behind our back and make the unanalyzed case another one. Unlogged fills twice as fast
    and plans the same."""
    for table in ("jobs", "job_lanes", "job_running"):
        await connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
        await connection.execute(f"ALTER TABLE {table} SET UNLOGGED")
    await connection.execute(FILL, state, rows, ahead_seconds, tenant_lane, timeout=180)
    await connection.execute(LINE_UP, timeout=180)
    if analyzed:
        await connection.execute("VACUUM (ANALYZE) jobs, job_lanes, job_running", timeout=180)


async def due_jobs(connection: Connection, count: int) -> list[UUID]:
    return [row["job_id"] for row in await connection.fetch(DUE, count)]


async def explain(connection: Connection, mode: str, sql: str, *arguments: object) -> Plan:
    """Executed and rolled back. A generic plan is what a prepared statement may turn into after five runs."""
    await connection.execute(f"SET plan_cache_mode = {mode}")
    transaction = connection.transaction()
    await transaction.start()
    try:
        text = await connection.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", *arguments)
    finally:
        await transaction.rollback()
    plan: Plan = json.loads(text)[0]["Plan"]
    return plan


def nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def on_jobs(plan: Plan) -> list[Plan]:
    """Scans of the tables that grow: job_running is as small as what runs, and may be read whole."""
    tables = ("jobs", "job_lanes", "job_events")
    return [
        node for node in nodes(plan) if node.get("Relation Name") in tables and "Scan" in node["Node Type"]
    ]


def indexes(plan: Plan) -> set[str]:
    return {node["Index Name"] for node in nodes(plan) if "Index Name" in node}


def pages(plan: Plan) -> int:
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def rows_read(plan: Plan) -> int:
    """Rows of the large tables that the scans looked at, whether they passed the filters or not."""
    return sum(
        int(node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)))
        for node in on_jobs(plan)
    )


def open_ranges(plan: Plan) -> list[str]:
    """Scans that look for what is due without one class: only the newest servers (18) skip from class to class then,
    the others read all that is not due yet."""
    scans = [(node.get("Index Cond", ""), node.get("Filter", "")) for node in on_jobs(plan)]
    return [cond for cond, rest in scans if "run_at" in cond + rest and "priority" not in cond]


def assert_by_index(plan: Plan, *allowed: str) -> None:
    scans = on_jobs(plan)
    assert scans
    assert not [node for node in scans if node["Node Type"] == "Seq Scan"], json.dumps(plan, indent=1)
    assert {name for name in indexes(plan) if name.startswith(("jobs_", "job_lanes_"))} <= set(allowed), (
        indexes(plan)
    )
    removed = max(node.get("Rows Removed by Filter", 0) for node in nodes(plan))
    assert removed < 1000, json.dumps(plan, indent=1)


async def check_all(connection: Connection, mode: str) -> None:
    """Claim, renew, complete, release, retry, reclaim, count and enqueue, as a worker sends them."""
    due = await due_jobs(connection, 300)
    turns = await explain_turns(connection, mode, ["default", "other"], 100)
    assert_by_index(turns, "job_lanes_pkey")
    claim = await explain_claim(connection, mode, 100)
    assert_by_index(claim, "job_lanes_pkey", "jobs_pkey")
    assert claim["Actual Rows"] == 100
    assert pages(claim) < 12_000

    held = due[:100]
    await connection.execute(RUNNING, WORKER, held)
    fences, ones, nothing = [1] * 100, [1] * 100, [""] * 100
    renew = await explain(connection, mode, LEASES["renew_leases"], WORKER, held, fences, 60.0)
    assert_by_index(renew, "jobs_pkey")
    ttl = [3600.0] * 100
    done = await explain(
        connection, mode, LEASES["complete_jobs"], WORKER, held, fences, [], [], ones, ttl, [], []
    )
    assert_by_index(done, "jobs_pkey")
    assert done["Actual Rows"] == 100
    await explain_release(connection, mode, held)
    again = await explain(
        connection, mode, LEASES["retry_jobs"], WORKER, held, fences, ttl, nothing, nothing, ones, 3
    )
    assert_by_index(again, "jobs_pkey")
    back = await explain(
        connection, mode, LEASES["hand_back_jobs"], WORKER, held, fences, ttl, nothing, ones, 3, nothing
    )
    assert_by_index(back, "jobs_pkey")
    failed = ["failed"] * 100
    ended = await explain(
        connection, mode, LEASES["end_jobs"], WORKER, held, fences, failed, nothing, nothing, ones, 60.0
    )
    assert_by_index(ended, "jobs_pkey")
    reclaim = await explain(connection, mode, LEASES["reclaim_jobs"], 500, 3, 60.0, "reclaimer")
    assert_by_index(reclaim, "jobs_pkey")
    assert reclaim["Actual Rows"] == 100
    running = await explain(connection, mode, INTEGRATIONS["count_running"], ["default"])
    assert not on_jobs(running)
    holders = await explain(connection, mode, SUBMISSIONS["survey"], [b"x" * 32, b"y" * 32], ["default"], 1.0)
    assert_by_index(holders, "jobs_live_key")
    await connection.execute("DELETE FROM jobs WHERE id = ANY ($1::uuid[])", due)
    await connection.execute("DELETE FROM job_lanes WHERE job_id = ANY ($1::uuid[])", due)
    await connection.execute("TRUNCATE job_running")


async def explain_turns(connection: Connection, mode: str, queues: list[str], room: int) -> Plan:
    lanes = [(queue, priority) for queue in queues for priority in range(4)]
    return await explain(
        connection, mode, LEASES["find_turns"], [q for q, _ in lanes], [p for _, p in lanes], room
    )


async def explain_claim(connection: Connection, mode: str, room: int) -> Plan:
    sql = LEASES["claim_lanes"]
    return await explain(connection, mode, sql, WORKER, ["default"] * 2, [0, 1], [room] * 2, room, 60.0)


async def explain_release(connection: Connection, mode: str, finished: list[UUID]) -> None:
    plan = await explain(connection, mode, LEASES["release_dependants"], "worker", finished)
    assert not [node for node in on_jobs(plan) if node["Node Type"] == "Seq Scan"], json.dumps(plan, indent=1)


@pytest.mark.parametrize("analyzed", [True, False], ids=["analyzed", "never analyzed"])
async def test_no_statement_of_a_worker_reads_two_hundred_thousand_finished_jobs(
    connection: Connection, analyzed: bool
) -> None:
    await fill(connection, 200_000, analyzed=analyzed)
    for mode in MODES:
        await check_all(connection, mode)


async def test_no_statement_of_a_worker_reads_a_million_finished_jobs(connection: Connection) -> None:
    await fill(connection, 1_000_000)
    for mode in MODES:
        await check_all(connection, mode)


async def test_a_claim_does_not_read_two_hundred_thousand_jobs_of_the_future(connection: Connection) -> None:
    await fill(connection, 200_000, state="queued", ahead_seconds=3600)
    for mode in MODES:
        for idle in (
            await explain_turns(connection, mode, ["default"], 100),
            await explain_claim(connection, mode, 100),
        ):
            assert idle["Actual Rows"] == 0
            assert pages(idle) < 60, json.dumps(idle, indent=1)
    await due_jobs(connection, 10)
    for mode in MODES:
        turns = await explain_turns(connection, mode, ["default", "other"], 100)
        assert turns["Actual Rows"] == 1
        assert pages(turns) < 60, json.dumps(turns, indent=1)
        claim = await explain_claim(connection, mode, 100)
        assert_by_index(claim, "job_lanes_pkey", "jobs_pkey")
        assert claim["Actual Rows"] == 10
        assert pages(claim) < 2_000


async def test_suspects_are_found_without_reading_the_fifty_thousand_due_jobs_before_them(
    connection: Connection,
) -> None:
    await fill(connection, 50_000, state="queued", ahead_seconds=-7200)
    suspects = await due_jobs(connection, 3)
    await connection.execute("UPDATE job_lanes SET solo = true WHERE job_id = ANY ($1::uuid[])", suspects)
    for mode in MODES:
        look = await explain(connection, mode, LEASES["suspect_queues"], ["default", "other"])
        assert_by_index(look, "job_lanes_solo")
        claim = await explain(connection, mode, LEASES["claim_suspect"], WORKER, "default", 60.0, None)
        assert_by_index(claim, "job_lanes_solo", "jobs_pkey")
        assert (look["Actual Rows"], claim["Actual Rows"]) == (1, 1)
        assert pages(look) + pages(claim) < 200


async def test_a_gated_claim_reads_a_bounded_number_of_two_hundred_thousand_jobs_of_the_future(
    connection: Connection,
) -> None:
    """Under tenant rules too: 50 tenants with 4,000 scheduled small jobs each, and ten larger ones that are due."""
    await fill(connection, 200_000, state="queued", ahead_seconds=3600, tenant_lane=True)
    await connection.execute(DUE_LARGE, 10)
    for mode in MODES:
        turns = await explain_turns(connection, mode, ["default"], 100)
        assert turns["Actual Rows"] == 1
        assert pages(turns) < 60, json.dumps(turns, indent=1)
        assert not open_ranges(turns)
        sql = LEASES["claim_tenant_lane"]
        for cap in (None, 20):
            plan = await explain(connection, mode, sql, WORKER, "default", 10, 60.0, cap, True, 3)
            assert not [node for node in on_jobs(plan) if node["Node Type"] == "Seq Scan"], json.dumps(plan)
            assert plan["Actual Rows"] == 10
            # A look-up or two for each tenant and class, then the ten jobs themselves.
            assert pages(plan) < 3_000, json.dumps(plan, indent=1)
            assert rows_read(plan) < 1_000, json.dumps(plan, indent=1)
            assert not open_ranges(plan)


async def test_the_depth_of_a_queue_is_counted_without_reading_what_is_not_asked_for(
    connection: Connection,
) -> None:
    await fill(connection, 100_000, state="queued", ahead_seconds=3600)
    await due_jobs(connection, 10)
    for mode in MODES:
        plan = await explain(connection, mode, BOARD["queue_depths"], 1_000, ["default"])
        assert rows_read(plan) < 10_000, json.dumps(plan, indent=1)
        assert not open_ranges(plan)


async def test_a_turn_of_tenants_reads_each_tenants_oldest_jobs_only(connection: Connection) -> None:
    """50 tenants with 1,000 jobs each: the claim looks at a few of each."""
    await fill(connection, 50_000, state="queued", ahead_seconds=-7200, tenant_lane=True)
    for mode in MODES:
        sql = LEASES["claim_tenant_lane"]
        plan = await explain(connection, mode, sql, WORKER, "default", 10, 60.0, 5, True, 3)
        assert not [node for node in on_jobs(plan) if node["Node Type"] == "Seq Scan"], json.dumps(
            plan, indent=1
        )
        assert plan["Actual Rows"] == 10
        assert pages(plan) < 6_000

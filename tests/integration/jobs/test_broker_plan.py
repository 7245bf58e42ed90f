"""The plans of what a message broker adds, on lanes full of work."""

from __future__ import annotations

import json

from tests.integration.jobs.test_claim_plan import (
    MODES,
    WORKER,
    Connection,
    assert_by_index,
    explain,
    fill,
    pages,
)
from tests.integration.jobs.test_claim_plan import connection as connection

from quire.jobs.infrastructure.postgres.claims.named_claim import SQL as NAMED
from quire.jobs.infrastructure.postgres.outbox import SQL as OUTBOX

QUEUES = ["default", "other"]


async def test_a_claim_by_name_looks_up_its_jobs_and_nothing_else(connection: Connection) -> None:
    await fill(connection, 50_000, state="queued", ahead_seconds=-7200)
    rows = await connection.fetch("SELECT id FROM jobs ORDER BY id DESC LIMIT 100")
    for mode in MODES:
        arguments = (WORKER, [row["id"] for row in rows], QUEUES, QUEUES, 100, 60.0)
        claim = await explain(connection, mode, NAMED["claim_named_jobs"], *arguments)
        assert_by_index(claim, "job_lanes_pkey", "jobs_pkey")
        assert claim["Actual Rows"] == 100
        assert pages(claim) < 6_000, json.dumps(claim, indent=1)


async def test_what_is_owed_is_read_from_the_front_of_the_lanes(connection: Connection) -> None:
    await fill(connection, 50_000, state="queued", ahead_seconds=-7200)
    for mode in MODES:
        owed = await explain(connection, mode, OUTBOX["owed_messages"], QUEUES, 5.0, 500)
        assert_by_index(owed, "job_lanes_pkey", "jobs_pkey")
        assert owed["Actual Rows"] == 500
        assert pages(owed) < 4_000, json.dumps(owed, indent=1)

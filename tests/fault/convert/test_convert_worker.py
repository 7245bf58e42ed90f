"""What a real worker takes while it converts: slots, locks of the database, memory."""

from __future__ import annotations

import hashlib
from pathlib import Path

import asyncpg
import pytest
from tests.support.conversions import called, convert_site, end_of, hand_in
from tests.support.gateway_process import GatewayProcess, pdf_that
from tests.support.processes import WorkerYard
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.jobs import JobState

HUGE_BYTES = 64 * 1024 * 1024
# One file held whole, of the two that pass through, would be twice that.
GROWTH_BYTES = HUGE_BYTES // 2
OLD_TRANSACTIONS = """
SELECT pid, state, query FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'quire%' AND xact_start < $1
"""


@pytest.fixture
def site(dsn: str, tmp_path: Path, gateway: GatewayProcess) -> Site:
    limits = {"CONVERT_MAX_FILE_BYTES": 2 * HUGE_BYTES, "CONVERT_MAX_RESULT_BYTES": 2 * HUGE_BYTES}
    return convert_site(dsn, tmp_path, gateway.url, **limits)


async def test_a_worker_makes_as_many_calls_at_once_as_its_concurrency_and_no_more(
    site: Site, engine: Engine, yard: WorkerYard, gateway: GatewayProcess
) -> None:
    files = [pdf_that(number, seconds=0.2) for number in range(6)]
    ids = [await hand_in(site, engine, pdf) for pdf in files]
    yard.start(WORKER_CONCURRENCY=2)
    for job_id in ids:
        assert (await end_of(engine, job_id)).state is JobState.SUCCEEDED
    digests = {hashlib.sha256(pdf).hexdigest() for pdf in files}
    assert max(call["at_once"] for call in gateway.calls() if call["sha256"] in digests) == 2


async def test_no_transaction_and_no_lock_is_held_while_the_gateway_is_waited_for(
    site: Site, engine: Engine, yard: WorkerYard, gateway: GatewayProcess
) -> None:
    yard.start()
    pdf = pdf_that(10, answer="hang")
    job_id = await hand_in(site, engine, pdf)
    await called(gateway, pdf)
    async with engine.database.acquire() as connection:
        now = await connection.fetchval("SELECT clock_timestamp()")

        # Renewing the lease takes both for a moment; what belongs to the call stays as long as the call.
        async def nothing_open() -> bool:
            return not await connection.fetch(OLD_TRANSACTIONS, now)

        async def row_free() -> bool:
            try:
                return bool(
                    await connection.fetchval("SELECT id FROM jobs WHERE id = $1 FOR UPDATE NOWAIT", job_id)
                )
            except asyncpg.LockNotAvailableError:
                return False

        await eventually(nothing_open, "no transaction from before the call", within_seconds=5)
        await eventually(row_free, "a row that others may lock", within_seconds=5)
        state = await connection.fetchval("SELECT state FROM jobs WHERE id = $1", job_id)
    assert state == "running"


async def test_a_huge_file_passes_through_a_worker_that_holds_little_of_it(
    site: Site, engine: Engine, yard: WorkerYard, tmp_path: Path
) -> None:
    worker = yard.start()
    await end_of(engine, await hand_in(site, engine, pdf_that(20)))
    before = peak_bytes(worker.pid)
    pdf = pdf_that(21, answer="huge") + b"0" * HUGE_BYTES
    job = await end_of(engine, await hand_in(site, engine, pdf))
    assert job.state is JobState.SUCCEEDED, job.error_message
    assert (tmp_path / "results" / f"{job.id}.xml").stat().st_size > HUGE_BYTES
    assert peak_bytes(worker.pid) - before < GROWTH_BYTES


def peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])

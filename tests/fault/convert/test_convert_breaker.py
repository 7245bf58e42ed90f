"""The breaker of the gateway with the rules that are shipped; only the time it stays open is shorter."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.conversions import breaker_is, breaker_of, change_breaker, convert_site, end_of, hand_in
from tests.support.gateway_process import GatewayProcess, pdf_that
from tests.support.processes import WorkerYard
from tests.support.records import job_of
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.jobs import JobState

OPEN_SECONDS = 1.0


@pytest.fixture
def site(dsn: str, tmp_path: Path, gateway: GatewayProcess) -> Site:
    site = convert_site(dsn, tmp_path, gateway.url, GATEWAY_TIMEOUT_MS=800)
    change_breaker(site.config_dir, open_seconds=OPEN_SECONDS)
    return site


async def test_five_timeouts_of_a_gateway_that_is_well_hold_the_queue_and_four_do_not(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    yard.start()
    late = [await hand_in(site, engine, pdf_that(number, answer="hang")) for number in range(4)]
    await eventually(lambda: failures_are(engine, 4), "four timeouts in the window")
    assert await breaker_is(engine, "closed")

    fifth = await hand_in(site, engine, pdf_that(4, answer="hang", times=1))
    await eventually(lambda: breaker_is(engine, "open"), "an open breaker")
    status = await breaker_of(engine)
    assert (status.successes, status.failures) == (0, 5)
    # The gateway answered its health check: the four count as failures of their files.
    failed = [await job_of(engine, job_id) for job_id in late]
    assert {(job.state, job.error_code, job.retry_count) for job in failed} == {
        (JobState.QUEUED, "GW_TIMEOUT", 1)
    }

    held = [await end_of(engine, job_id) for job_id in (fifth, await hand_in(site, engine, pdf_that(5)))]
    assert {(job.state, job.attempt) for job in held} == {(JobState.SUCCEEDED, 1)}
    for job in held:
        assert job.finished_at is not None
        assert (job.finished_at - status.changed_at).total_seconds() >= OPEN_SECONDS
    await eventually(lambda: breaker_is(engine, "closed"), "a closed breaker")


async def failures_are(engine: Engine, count: int) -> bool:
    return (await breaker_of(engine)).failures == count

"""What the engine tells Prometheus about the work it did."""

from __future__ import annotations

from pathlib import Path

from tests.support.engine_fixture import (
    ended,
    engine_at_work,
    enqueue_one,
    opened_engine,
    run_sql,
    until,
)

from quire.jobs.application.upkeep.gauge_refresher import GaugeRefresher
from quire.runtime.telemetry import REGISTRY


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def test_attempts_times_failures_and_claims_are_counted(dsn: str, tmp_path: Path) -> None:
    succeeded = {"kind": "jobs.echo", "outcome": "Succeeded"}
    # The code is the caller's own text, which is no label.
    failed = {"kind": "jobs.fail", "error_code": "CALLERS_CODE"}
    before = (
        value("quire_job_attempts_total", **succeeded),
        value("quire_job_failures_total", **failed),
        value("quire_jobs_claimed_total"),
        value("quire_job_seconds_count", kind="jobs.echo"),
    )
    async with engine_at_work(dsn, tmp_path) as engine:
        echo = await enqueue_one(engine, "jobs.echo", {"say": "hello"})
        jam = await enqueue_one(engine, "jobs.fail", {"code": "PAPER_JAM"})
        await ended(engine, echo, jam)

        async def counted() -> bool:
            after = (
                value("quire_job_attempts_total", **succeeded),
                value("quire_job_failures_total", **failed),
                value("quire_jobs_claimed_total"),
                value("quire_job_seconds_count", kind="jobs.echo"),
            )
            return [now - then for now, then in zip(after, before, strict=True)] == [1, 1, 2, 1]

        await until(counted)


async def test_what_is_due_for_the_sweep_is_told_with_its_age(dsn: str, tmp_path: Path) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        gauges = GaugeRefresher(engine.board, engine.gate, engine.registry, engine.expiry, engine.policies)
        await run_sql(
            engine,
            "INSERT INTO jobs (id, state, queue, kind, tenant_id, created_by, priority, payload, expires_at)"
            " SELECT gen_random_uuid(), 'expired', 'default', 'jobs.noop', 'acme', 'ann', 0, '{}',"
            " now() - interval '92 days' FROM generate_series(1, 7)",
        )
        await gauges.refresh()
        assert value("quire_sweep_backlog", chore="pruning") == 7
        assert 2 * 86400 <= value("quire_sweep_overdue_seconds", chore="pruning") < 3 * 86400
        await engine.expiry.prune_jobs(90, 100)
        await gauges.refresh()
        assert value("quire_sweep_backlog", chore="pruning") == 0
        assert value("quire_sweep_overdue_seconds", chore="pruning") == 0

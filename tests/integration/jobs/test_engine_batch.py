"""J19, J21: large batches in order, payloads at the edge, and rows that no handler understands."""

from __future__ import annotations

import random
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from tests.support.engine_fixture import (
    claim,
    complete,
    ended,
    engine_at_work,
    enqueue,
    enqueue_one,
    job_of,
    opened_engine,
    problem_of,
    run_sql,
    until,
)

from quire.entrypoints.engine import Engine
from quire.jobs import Handler, JobContext, JobRequest
from quire.jobs.application.intake.enqueue_jobs import BATCH_MAX
from quire.kernel import InvalidInputError, QuireError

ANN = uuid4()


async def test_ten_thousand_jobs_in_one_call_are_answered_in_order_duplicates_included(
    dsn: str, tmp_path: Path
) -> None:
    numbers = list(range(9_000)) + [random.Random(7).randrange(9_000) for _ in range(1_000)]
    random.Random(8).shuffle(numbers)
    async with opened_engine(dsn, tmp_path) as engine:
        before = await enqueue(engine, *(JobRequest("jobs.echo", {"n": n}) for n in range(100)))
        receipts = await enqueue(engine, *(JobRequest("jobs.echo", {"n": n}) for n in numbers))
        rows = await run_sql(engine, "SELECT id, (payload->>'n')::int FROM jobs")
    stored = {row[0]: row[1] for row in rows}
    assert len(stored) == 9_000
    assert [stored[receipt.job_id] for receipt in receipts] == numbers
    assert sum(receipt.outcome == "created" for receipt in receipts) == 8_900
    held = {receipt.job_id for receipt in before}
    assert all(receipt.outcome == "existing" for receipt in receipts if receipt.job_id in held)


async def test_a_batch_is_accepted_whole_or_not_at_all(dsn: str, tmp_path: Path) -> None:
    good = JobRequest("jobs.noop", {})
    async with opened_engine(dsn, tmp_path) as engine:
        for bad in (JobRequest("no.such", {}), JobRequest("jobs.noop", {"x": float("nan")})):
            with pytest.raises(InvalidInputError):
                await enqueue(engine, good, bad, good)
        for size in (0, BATCH_MAX + 1):
            with pytest.raises(InvalidInputError, match="10000"):
                await enqueue(engine, *[good] * size)
        assert await run_sql(engine, "SELECT 1 FROM jobs") == []


def nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(depth):
        value = {"d": value}
    return value


REFUSED = {
    "NaN": {"x": float("nan")},
    "infinity": {"x": float("inf")},
    "an integer past 2**53": {"x": 2**60},
    "a lone surrogate": {"x": "\ud800"},
    "a lone surrogate as key": {"\udfff": 1},
    "NUL": {"x": "a\0b"},
    "NUL as key": {"a\0": 1},
    "NUL deep inside": {"x": [{"y": ["\0"]}]},
    "a key that is no text": {1: 2},
    "bytes": {"x": b"raw"},
    "300 kB": {"x": "a" * 300_000},
    "200 levels": nested(200),
    "900 levels": nested(900),
    "a depth bomb": nested(100_000),
    "NUL in 400 levels": {**nested(400), "x": "\0"},
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_payload_that_cannot_be_kept_exactly_is_refused_with_a_type(
    dsn: str, tmp_path: Path, name: str
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        with pytest.raises(QuireError) as refusal:
            await enqueue(engine, JobRequest("jobs.echo", REFUSED[name]))  # type: ignore[arg-type]
        assert refusal.value.code in ("PAYLOAD_NOT_CANONICAL", "PAYLOAD_UNDECODABLE", "PAYLOAD_TOO_LARGE")
        assert not refusal.value.retryable
        assert len(refusal.value.detail) < 500
        assert await run_sql(engine, "SELECT 1 FROM jobs") == []


async def test_odd_but_sound_payloads_come_back_as_they_were_sent(dsn: str, tmp_path: Path) -> None:
    sound: list[dict[str, object]] = [
        {},
        {"": ""},
        {"x": "\\u0000 written out"},
        {"x": "\u2028 \U0001f4c4 ş \u202e"},
        {"x": [2**53 - 1, -(2**53) + 1, 1e-300, 0.1, -0.0]},
        {"x": "a" * 200_000},
        nested(60),
    ]
    async with engine_at_work(dsn, tmp_path) as engine:
        receipts = await enqueue(engine, *(JobRequest("jobs.echo", payload) for payload in sound))
        jobs = await ended(engine, *(receipt.job_id for receipt in receipts))
    for payload, job in zip(sound, jobs, strict=True):
        assert job.payload == payload
        if len(str(payload)) < 60_000:
            assert (job.state, job.result) == ("succeeded", payload)
        else:
            assert (job.state, job.error_code) == ("failed", "RESULT_INVALID")


RESULTS = {
    "a lone surrogate": "\ud800",
    "NUL": "a\0b",
    "NaN": float("nan"),
    "a set": {1, 2},
    "70 kB": "a" * 70_000,
    "70 kB in two-byte letters": "ş" * 35_000,
    "itself": None,
    "a depth bomb": nested(100_000),
    "900 levels": nested(900),
}


async def test_a_result_that_cannot_be_stored_fails_its_job_and_no_other(dsn: str, tmp_path: Path) -> None:
    async def give(payload: object, context: JobContext) -> object:
        assert isinstance(payload, dict)
        if payload["name"] == "itself":
            loop: list[object] = []
            loop.append(loop)
            return loop
        return RESULTS[str(payload["name"])]

    async with engine_at_work(dsn, tmp_path, handlers=[Handler("test.give", give)]) as engine:
        ids = {name: await enqueue_one(engine, "test.give", {"name": name}) for name in RESULTS}
        fine = await enqueue_one(engine, "jobs.echo", {"x": "\\u0000 written out"})
        jobs = dict(zip(ids, await ended(engine, *ids.values()), strict=True))
        assert (await ended(engine, fine))[0].state == "succeeded"
    assert {name: (job.state, job.error_code) for name, job in jobs.items()} == dict.fromkeys(
        RESULTS, ("failed", "RESULT_INVALID")
    )


ODD_ROWS = {
    "unknown kind": ("no.such_kind", "{}", "UNKNOWN_KIND"),
    "a kind of garbage": ("'; DROP TABLE jobs; --", "{}", "UNKNOWN_KIND"),
    "text": ("jobs.echo", '"text"', "PAYLOAD_UNDECODABLE"),
    "null": ("jobs.echo", "null", "PAYLOAD_UNDECODABLE"),
    "a number": ("jobs.echo", "17", "PAYLOAD_UNDECODABLE"),
    "a list": ("jobs.echo", "[1, 2]", "PAYLOAD_UNDECODABLE"),
    "no seconds": ("jobs.sleep", "{}", "HANDLER_CRASHED"),
    "2000 levels": ("jobs.echo", '{"a":' * 2000 + "1" + "}" * 2000, "PAYLOAD_UNDECODABLE"),
    "1e5000": ("test.strict", '{"n": 1e5000}', "PAYLOAD_UNDECODABLE"),
}


async def test_rows_that_no_handler_understands_fail_typed_while_the_worker_goes_on(
    dsn: str, tmp_path: Path
) -> None:
    def strict(payload: object) -> object:
        assert isinstance(payload, dict)
        return int(payload["n"])

    async def never(payload: object, context: JobContext) -> None:
        raise AssertionError("decoded what cannot be decoded")

    async with engine_at_work(
        dsn, tmp_path, handlers=[Handler("test.strict", never, decode=strict)], WORKER_CONCURRENCY=2
    ) as engine:
        ids = {name: await _insert_row(engine, kind, text) for name, (kind, text, _) in ODD_ROWS.items()}
        engine.broker.announce("work")
        fine = await enqueue_one(engine)
        await ended_state(engine, *ids.values(), fine)
        codes = {row[0]: row[1] for row in await run_sql(engine, "SELECT id, error_code FROM jobs")}
        for job_id in ids.values():
            assert (await problem_of(engine, job_id)).recommendation
        assert codes.pop(fine) is None
    assert {name: codes[job_id] for name, job_id in ids.items()} == {
        name: code for name, (_, _, code) in ODD_ROWS.items()
    }


async def test_a_garbled_trace_id_does_not_keep_a_job_from_running(dsn: str, tmp_path: Path) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        job_id = await _insert_row(engine, "jobs.noop", "{}", traceparent="zz-not-a-trace")
        assert (await ended(engine, job_id))[0].state == "succeeded"


async def test_a_job_of_a_queue_that_no_configuration_knows_stays_and_harms_nobody(
    dsn: str, tmp_path: Path
) -> None:
    async with engine_at_work(dsn, tmp_path) as engine:
        lost = await _insert_row(engine, "jobs.noop", "{}", queue="removed")
        fine = await enqueue_one(engine)
        await ended(engine, fine)
        assert (await job_of(engine, lost)).state == "queued"


async def test_a_batch_of_completions_with_one_stale_lease_finishes_the_others(
    dsn: str, tmp_path: Path
) -> None:
    async with opened_engine(dsn, tmp_path) as engine:
        await enqueue(engine, *[JobRequest("jobs.noop", {}, unique=False)] * 20)
        leases = (await claim(engine, ANN)).leases
        leases[7].fence -= 1
        accepted = await complete(engine, ANN, *leases)
        assert accepted == {lease.job_id for lease in leases} - {leases[7].job_id}
        assert (await job_of(engine, leases[7].job_id)).state == "running"


async def ended_state(engine: Engine, *job_ids: UUID) -> None:
    """Without reading the payloads, which are the trouble here."""

    async def all_ended() -> bool:
        return len(await engine.board.ended_among(job_ids)) == len(job_ids)

    await until(all_ended)


async def _insert_row(engine: Engine, kind: str, payload_text: str, **columns: str) -> UUID:
    values = {"queue": "default", "traceparent": None, **columns}
    job_id = uuid4()
    await run_sql(
        engine,
        "WITH job AS (INSERT INTO jobs (id, state, kind, queue, tenant_id, created_by, priority, payload, traceparent)"
        " VALUES ($1, 'queued', $2, $3, 'acme', 'ann', 0, $4::text::jsonb, $5) RETURNING *)"
        " INSERT INTO job_lanes SELECT queue, priority, run_at, id, tenant_id, false FROM job",
        job_id,
        kind,
        values["queue"],
        payload_text,
        values["traceparent"],
    )
    return job_id

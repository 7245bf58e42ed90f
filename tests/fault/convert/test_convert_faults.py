"""The conversions of the source document's integration list, by real processes: a gateway that answers, refuses, fails,
stays silent or is gone, and workers that are killed or told to stop."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import get_args
from uuid import UUID

import pytest
from tests.support.conversions import (
    BASE_SECONDS,
    breaker_is,
    called,
    convert_site,
    end_of,
    hand_in,
    shorten,
)
from tests.support.gateway_process import GatewayProcess, pdf_that
from tests.support.processes import WorkerProcess, WorkerYard, holds, worker_yard
from tests.support.records import job_of, timeline_of
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.convert.application.step_log import Step
from quire.entrypoints.engine import Engine
from quire.jobs import JobState, Sight

# A worker on a machine that has no more files to give just when an answer is to be checked.
WITHOUT_PIPES = (
    "-c",
    "import errno, os, sys\n"
    "def pipe(): raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))\n"
    "os.pipe = pipe\n"
    "sys.argv = ['quire', 'worker']\n"
    "import quire.__main__\n",
)


@pytest.fixture
def site(dsn: str, tmp_path: Path, gateway: GatewayProcess) -> Site:
    site = convert_site(dsn, tmp_path, gateway.url, CONVERT_MAX_RESULT_BYTES=250_000)
    shorten(site.config_dir)
    return site


@pytest.fixture
def yard(site: Site) -> Iterator[WorkerYard]:
    with worker_yard(site) as yard:
        yield yard


@pytest.fixture
async def engine(site: Site) -> AsyncIterator[Engine]:
    async with site.engine() as engine:
        yield engine


async def test_a_conversion_goes_from_the_upload_to_the_result_and_logs_each_step(
    site: Site, engine: Engine, yard: WorkerYard, gateway: GatewayProcess, tmp_path: Path
) -> None:
    worker = yard.start()
    await worker.started()
    assert (tmp_path / "uploads").is_dir()
    assert (tmp_path / "results").is_dir()
    pdf = pdf_that(1, seconds=0.2)
    job_id = await hand_in(site, engine, pdf)
    job = await end_of(engine, job_id)
    assert (job.state, job.attempt, job.leased_by) == (JobState.SUCCEEDED, 1, None)

    assert (tmp_path / "uploads" / f"{job_id}.pdf").read_bytes() == pdf
    result = tmp_path / "results" / f"{job_id}.xml"
    digest = hashlib.sha256(pdf).hexdigest()
    assert f'mapping="alto" sha256="{digest}"' in result.read_text()
    assert isinstance(job.result, dict)
    assert job.result["result_path"] == str(result)
    assert job.result["size_bytes"] == result.stat().st_size > 0
    assert job.artifact_key is not None
    assert await engine.storage.get_bytes(job.artifact_key, max_bytes=10_000) == result.read_bytes()
    assert [path.name for path in (tmp_path / "results").iterdir()] == [result.name]

    (call,) = [call for call in gateway.calls() if call["sha256"] == digest]
    assert (call["path"], call["accept"], call["mapping"]) == ("/process", "application/xml", "alto")
    await worker.said("complete")
    assert steps_of(worker, job_id) == [
        ("claim", "running", 1, None),
        ("start", "running", 1, None),
        ("gateway_ok", "running", 1, 200),
        ("complete", "succeeded", 1, None),
    ]
    assert all(line["duration_ms"] >= 200 for line in worker.events("gateway_ok"))  # type: ignore[operator]


def steps_of(worker: WorkerProcess, job_id: UUID) -> list[tuple[object, ...]]:
    names = get_args(Step)
    lines = [line for name in names for line in worker.events(name) if line.get("job_id") == str(job_id)]
    lines.sort(key=lambda line: str(line["timestamp"]))
    for line in lines:
        assert {"duration_ms", "attempt", "gateway_status", "error_code", "status"} <= line.keys()
    assert len({line["trace_id"] for line in lines}) == 1
    return [(line["event"], line["status"], line["attempt"], line["gateway_status"]) for line in lines]


NO_DATE = "Sat, 01 Jan 99999999999999999999 00:00:00 GMT"
ENDINGS = {
    "400": ({"answer": "status", "status": 400}, "GW_4XX", 1),
    "404": ({"answer": "status", "status": 404}, "GW_4XX", 1),
    "406": ({"answer": "status", "status": 406}, "GW_4XX", 1),
    "413": ({"answer": "status", "status": 413}, "GW_4XX", 1),
    "415": ({"answer": "status", "status": 415}, "GW_4XX", 1),
    "422": ({"answer": "status", "status": 422}, "GW_4XX", 1),
    "500 for ever": ({"answer": "status", "status": 500}, "GW_5XX", 3),
    "reset for ever": ({"answer": "drop"}, "GW_5XX", 3),
    "cut for ever": ({"answer": "cut"}, "GW_5XX", 3),
    "302": ({"answer": "status", "status": 302}, "GW_BAD_RESPONSE", 2),
    "204": ({"answer": "status", "status": 204}, "GW_BAD_RESPONSE", 2),
    "empty": ({"answer": "empty"}, "GW_BAD_RESPONSE", 2),
    "malformed": ({"answer": "malformed"}, "GW_BAD_RESPONSE", 2),
    "wrong at its end": ({"answer": "unfinished"}, "GW_BAD_RESPONSE", 2),
    "compressed": ({"answer": "gzip"}, "GW_BAD_RESPONSE", 2),
    "entities": ({"answer": "doctype"}, "GW_BAD_RESPONSE", 2),
    "too deep": ({"answer": "deep"}, "GW_BAD_RESPONSE", 2),
    "too long": ({"answer": "long"}, "GW_BAD_RESPONSE", 2),
    "malformed, whatever it says of itself": (
        {"answer": "malformed", "vouched": "truly"},
        "GW_BAD_RESPONSE",
        2,
    ),
    "other bytes than it says": ({"answer": "xml", "vouched": "wrongly"}, "GW_BAD_RESPONSE", 2),
    "the bytes that it says": ({"answer": "xml", "vouched": "truly"}, None, 1),
    "503 twice": ({"answer": "status", "status": 503, "times": 2}, None, 3),
    "408 once": ({"answer": "status", "status": 408, "times": 1}, None, 2),
    "425 once": ({"answer": "status", "status": 425, "times": 1}, None, 2),
    "429, come in 2 s": (
        {"answer": "status", "status": 429, "times": 1, "headers": {"Retry-After": "2"}},
        None,
        2,
    ),
    "429, come at a date": (
        {
            "answer": "status",
            "status": 429,
            "times": 1,
            "headers": {
                "Date": "Sat, 01 Jan 2000 00:00:00 GMT",
                "Retry-After": "Sat, 01 Jan 2000 00:00:02 GMT",
            },
        },
        None,
        2,
    ),
    "429, come when no date can be": (
        {"answer": "status", "status": 429, "times": 1, "headers": {"Retry-After": NO_DATE}},
        None,
        2,
    ),
    "malformed once": ({"answer": "malformed", "times": 1}, None, 2),
    "well": ({}, None, 1),
}


VOUCHED = {
    "its bytes": ({"answer": "xml", "vouched": "truly"}, None, 1),
    "its bytes, which nobody parses again": ({"answer": "malformed", "vouched": "truly"}, None, 1),
    "other bytes": ({"answer": "xml", "vouched": "wrongly"}, "GW_BAD_RESPONSE", 2),
    "nothing at all": ({"answer": "empty", "vouched": "truly"}, "GW_BAD_RESPONSE", 2),
    "too much": ({"answer": "long", "vouched": "truly"}, "GW_BAD_RESPONSE", 2),
    "no bytes, so it is parsed": ({"answer": "malformed"}, "GW_BAD_RESPONSE", 2),
}


async def test_what_a_trusted_gateway_vouches_for_is_held_against_its_digest(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    yard.start(GATEWAY_TRUSTED="true")
    ids = {
        name: await hand_in(site, engine, pdf_that(103, name=name, **wish))
        for name, (wish, _, _) in VOUCHED.items()
    }
    ended = {name: await end_of(engine, job_id) for name, job_id in ids.items()}
    assert {name: (job.error_code, job.attempt) for name, job in ended.items()} == {
        name: (code, attempts) for name, (_, code, attempts) in VOUCHED.items()
    }


async def test_every_answer_of_the_gateway_has_its_code_and_its_number_of_attempts(
    site: Site, engine: Engine, yard: WorkerYard, gateway: GatewayProcess, tmp_path: Path
) -> None:
    worker = yard.start(CONVERT_MAPPINGS="alto")
    files = {name: pdf_that(100, name=name, **wish) for name, (wish, _, _) in ENDINGS.items()}
    ids = {name: await hand_in(site, engine, pdf) for name, pdf in files.items()}
    stale = await hand_in(site, engine, pdf_that(101), mapping="tei")
    lost = await hand_in(site, engine, pdf_that(102))
    (tmp_path / "uploads" / f"{lost}.pdf").unlink()

    seen = {}
    for name, job_id in ids.items():
        job = await end_of(engine, job_id)
        assert job.leased_by is None
        seen[name] = (job.error_code, job.attempt)
        succeeded = job.state is JobState.SUCCEEDED
        assert succeeded is (job.error_code is None)
        assert (tmp_path / "results" / f"{job_id}.xml").exists() is succeeded
        assert (job.result is not None) is succeeded
    assert seen == {name: (code, attempts) for name, (_, code, attempts) in ENDINGS.items()}
    kept = {item.key.split("/")[1] for item in await engine.storage.list("results/")}
    assert kept == {str(ids[name]) for name, (_, code, _) in ENDINGS.items() if code is None}
    calls = [call["sha256"] for call in gateway.calls()]
    for name, pdf in files.items():
        assert calls.count(hashlib.sha256(pdf).hexdigest()) == ENDINGS[name][2], name

    refused = await job_of(engine, ids["400"])
    assert refused.error_message == "the gateway answered 400 (TEST_REFUSAL): as the file wished"
    by_machine = await end_of(engine, stale)
    assert (by_machine.error_code, by_machine.attempt) == ("MAPPING_NOT_ALLOWED", 1)
    by_disk = await end_of(engine, lost)
    assert (by_disk.error_code, by_disk.attempt) == ("IO_ERROR", 2)
    assert str(tmp_path) not in str(by_disk.error_message)

    for asked in ("429, come in 2 s", "429, come at a date"):
        (pause,) = await pauses_of(engine, ids[asked])
        assert pause >= 2, asked
    failed = {line["job_id"]: line for line in worker.events("gateway_error")}
    assert failed[str(ids["500 for ever"])]["gateway_status"] == 500


async def test_a_silent_gateway_is_waited_for_up_to_the_limit_and_asked_again_after_growing_pauses(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    worker = yard.start(GATEWAY_TIMEOUT_MS=400, RETRY_MAX_ATTEMPTS=4)
    job = await end_of(engine, await hand_in(site, engine, pdf_that(103, answer="hang")))
    assert (job.error_code, job.attempt, job.retry_count) == ("GW_TIMEOUT", 4, 3)
    assert job.error_message == "no answer within 0.4 s (GATEWAY_TIMEOUT_MS)"
    # 5 s x 2^n plus up to 5 s, here with 0.1 in place of 5.
    pauses = await pauses_of(engine, job.id)
    assert [pause >= BASE_SECONDS * 2**n for n, pause in enumerate(pauses, 1)] == [True] * 3
    assert [line["error_code"] for line in worker.events("gateway_error")] == ["GW_TIMEOUT"] * 4


async def pauses_of(engine: Engine, job_id: UUID) -> list[float]:
    """Between an attempt that failed and the next."""
    events = await timeline_of(engine, job_id)
    ends = [event.at for event in events if event.reason == "retry"]
    starts = [event.at for event in events if event.to_state is JobState.RUNNING][1:]
    return [(start - end).total_seconds() for end, start in zip(ends, starts, strict=True)]


async def test_a_gateway_that_goes_away_holds_the_queue_and_nothing_is_burnt(
    site: Site, engine: Engine, yard: WorkerYard, gateway: GatewayProcess
) -> None:
    worker = yard.start(WORKER_CONCURRENCY=4)
    await worker.started()
    gateway.stop()
    try:
        ids = [await hand_in(site, engine, pdf_that(200 + number)) for number in range(12)]
        await eventually(lambda: breaker_is(engine, "open"), "an open breaker")
        # What was under way, and then a probe, have found nobody.
        called_so_far = len(worker.events("gateway_error"))
        await worker.said("gateway_error", times=called_so_far + 5, within_seconds=60)
        held = [await job_of(engine, job_id) for job_id in ids]
        assert {job.state for job in held} <= {JobState.QUEUED, JobState.RUNNING}
        assert sum(job.state is JobState.RUNNING for job in held) <= 1
    finally:
        gateway.start()
    ended = [await end_of(engine, job_id) for job_id in ids]
    assert {(job.state, job.attempt, job.retry_count) for job in ended} == {(JobState.SUCCEEDED, 1, 0)}
    await eventually(lambda: breaker_is(engine, "closed"), "a closed breaker")


async def test_a_gateway_that_goes_away_in_the_middle_of_its_calls_burns_nothing_either(
    site: Site, engine: Engine, yard: WorkerYard, gateway: GatewayProcess
) -> None:
    worker = yard.start()
    # Nobody gets an answer of the process that is ended.
    files = [pdf_that(250 + number, answer="hang", process=gateway.pid) for number in range(4)]
    ids = [await hand_in(site, engine, pdf) for pdf in files]
    await called(gateway, *files)
    gateway.stop()
    try:
        await worker.said("gateway_error", times=len(files))
        await eventually(lambda: breaker_is(engine, "open"), "an open breaker")
        held = [await job_of(engine, job_id) for job_id in ids]
        assert {(job.retry_count, job.error_code) for job in held} == {(0, None)}
    finally:
        gateway.start()
    ended = [await end_of(engine, job_id) for job_id in ids]
    assert {(job.state, job.attempt, job.retry_count) for job in ended} == {(JobState.SUCCEEDED, 1, 0)}
    await eventually(lambda: breaker_is(engine, "closed"), "a closed breaker")


async def test_a_gateway_that_says_it_is_unwell_holds_the_queue_too(
    site: Site, engine: Engine, yard: WorkerYard, gateway: GatewayProcess
) -> None:
    worker = yard.start()
    gateway.say_health(503)
    try:
        ids = [
            await hand_in(site, engine, pdf_that(300 + n, answer="status", status=502, times=1))
            for n in range(4)
        ]
        await worker.started()
        await eventually(lambda: breaker_is(engine, "open"), "an open breaker")
        assert {(await job_of(engine, job_id)).retry_count for job_id in ids} == {0}
    finally:
        gateway.say_health(200)
    ended = [await end_of(engine, job_id) for job_id in ids]
    assert {(job.state, job.attempt) for job in ended} == {(JobState.SUCCEEDED, 1)}


async def test_a_job_stuck_in_a_killed_worker_is_reclaimed_and_done_by_another(
    site: Site, engine: Engine, yard: WorkerYard, gateway: GatewayProcess, tmp_path: Path
) -> None:
    victim = yard.start(WORKER_LEASE_TTL_SEC=2)
    worker_id = await victim.started()
    pdf = pdf_that(400, seconds=20, times=1)
    job_id = await hand_in(site, engine, pdf)
    await holds(engine, worker_id, 1)
    await called(gateway, pdf)
    victim.kill()
    heir = yard.start()
    job = await end_of(engine, job_id)
    assert (job.state, job.attempt, job.crash_count) == (JobState.SUCCEEDED, 1, 1)
    assert [path.name for path in (tmp_path / "results").glob("*.xml")] == [f"{job_id}.xml"]
    await heir.said("complete")
    assert [step[:2] for step in steps_of(heir, job_id)][:2] == [("reclaim", "queued"), ("claim", "running")]


@pytest.mark.parametrize(("grace_seconds", "finishes"), [(20, True), (0.2, False)], ids=["grace", "no time"])
async def test_a_worker_told_to_stop_finishes_its_call_or_hands_the_job_back(
    grace_seconds: float,
    finishes: bool,
    site: Site,
    engine: Engine,
    yard: WorkerYard,
    gateway: GatewayProcess,
    tmp_path: Path,
) -> None:
    worker = yard.start(WORKER_SHUTDOWN_GRACE_SEC=grace_seconds, WORKER_LEASE_TTL_SEC=60)
    worker_id = await worker.started()
    pdf = pdf_that(500 + finishes, seconds=1.5 if finishes else 20)
    job_id = await hand_in(site, engine, pdf)
    await holds(engine, worker_id, 1)
    await called(gateway, pdf)
    worker.send(signal.SIGTERM)
    assert await worker.ended() == 0
    job = await job_of(engine, job_id)
    if finishes:
        assert (job.state, job.attempt) == (JobState.SUCCEEDED, 1)
    else:
        assert (job.state, job.attempt, job.leased_by) == (JobState.QUEUED, 0, None)
        assert ("shutdown", "queued", 1, None) in steps_of(worker, job_id)
        assert list((tmp_path / "results").iterdir()) == []
    assert worker.events("shutdown")


async def test_a_full_disk_ends_the_job_at_once_and_leaves_nothing_half_written(
    site: Site, engine: Engine, yard: WorkerYard, tmp_path: Path
) -> None:
    worker = yard.start()
    await worker.started()
    worker.limit_file_size(100_000)
    job = await end_of(engine, await hand_in(site, engine, pdf_that(600, answer="large")))
    assert (job.error_code, job.attempt) == ("IO_ERROR", 1)
    assert "STORAGE_FULL" in str(job.error_message)
    assert list((tmp_path / "results").iterdir()) == []
    assert await engine.storage.list("results/") == ()
    worker.limit_file_size(64_000_000)
    whole = await end_of(engine, await hand_in(site, engine, pdf_that(601, answer="large")))
    assert whole.state is JobState.SUCCEEDED
    assert await engine.board.get(whole.id, Sight("acme")) is not None


async def test_an_answer_that_this_machine_cannot_check_is_asked_for_once_more_and_is_no_crash(
    site: Site, engine: Engine, yard: WorkerYard, tmp_path: Path
) -> None:
    yard.start(WITHOUT_PIPES)
    job = await end_of(engine, await hand_in(site, engine, pdf_that(700)))
    assert (job.state, job.error_code, job.attempt) == (JobState.FAILED, "IO_ERROR", 2)
    assert job.error_message == "ANSWER_UNCHECKED: the system answered EMFILE"
    assert list((tmp_path / "results").iterdir()) == []
    assert await engine.storage.list("results/") == ()

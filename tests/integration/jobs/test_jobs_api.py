"""Jobs over HTTP, with a real database, a served API and a worker beside it."""

from __future__ import annotations

import asyncio
import hashlib
import signal
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.api_process import running_quire
from tests.support.api_server import client_of, serving_api
from tests.support.engine_fixture import engine_settings, until
from tests.support.jobs_office import Office, dead_letter, ended, open_office, refused, submit

from quire.entrypoints.migrate import migrate
from quire.runtime.auth import ensure_admin_token
from quire.runtime.database import Database
from quire.runtime.embedded_postgres import EmbeddedPostgres


@pytest.fixture
async def office(dsn: str, database: Database, tmp_path: Path) -> AsyncIterator[Office]:
    """No worker yet: a test that wants work done starts one."""
    async with open_office(dsn, database, tmp_path) as office:
        yield office


# Asking for work


async def test_new_job_is_created_and_the_same_work_again_is_the_same_job(office: Office) -> None:
    wanted = {"kind": "jobs.echo", "payload": {"b": 1, "a": 2}}
    first = await office.admin.post("/jobs", json=wanted)
    second = await office.admin.post("/jobs", json={"kind": "jobs.echo", "payload": {"a": 2, "b": 1}})
    assert (first.status_code, first.json()["outcome"], first.json()["status"]) == (201, "created", "queued")
    assert (second.status_code, second.json()["outcome"]) == (200, "existing")
    assert second.json()["job_id"] == first.json()["job_id"]
    assert first.headers["Location"] == f"/jobs/{first.json()['job_id']}"
    assert (await office.admin.get(first.headers["Location"])).status_code == 200


async def test_fifty_identical_requests_at_once_create_one_job(office: Office) -> None:
    wanted = {"kind": "jobs.echo", "payload": {"n": 1}}
    answers = await asyncio.gather(*(office.admin.post("/jobs", json=wanted) for _ in range(50)))
    assert sorted(answer.status_code for answer in answers) == [200] * 49 + [201]
    assert len({answer.json()["job_id"] for answer in answers}) == 1


async def test_refusals_of_a_submission_are_typed_and_store_nothing(office: Office) -> None:
    post = office.admin.post
    unknown = refused(await post("/jobs", json={"kind": "no.such"}), 422, "UNKNOWN_KIND")
    assert "jobs.echo, jobs.fail" in unknown["detail"]
    flawed = {"kind": "jobs.store", "payload": {"seconds": -1, "repeat": 0}}
    flaws = refused(await post("/jobs", json=flawed), 422, "PAYLOAD_UNDECODABLE")["detail"].split("; ")
    assert sorted(flaw.split(":")[0] for flaw in flaws) == ["payload", "repeat", "seconds"]
    refused(await post("/jobs", json={"kind": "jobs.noop", "queue": "nowhere"}), 404, "QUEUE_NOT_FOUND")
    extra = refused(
        await post("/jobs/batch", json={"jobs": [{"kind": "jobs.noop", "colour": "red"}]}),
        422,
        "VALIDATION_FAILED",
    )
    assert extra["detail"].startswith("body.jobs.0.colour: no such field; there are: delay_seconds, ")
    form = await post("/jobs", content='{"kind": "jobs.noop"}', headers={"Content-Type": "text/plain"})
    assert "`Content-Type: application/json`" in refused(form, 422, "VALIDATION_FAILED")["detail"]
    large = {"kind": "jobs.echo", "payload": {"text": "x" * 300_000}}
    refused(await post("/jobs", json=large), 413, "PAYLOAD_TOO_LARGE")
    huge = {"kind": "jobs.echo", "payload": {"text": "x" * 1_100_000}}
    refused(await post("/jobs", json=huge), 413, "PAYLOAD_TOO_LARGE")
    both = {"kind": "jobs.noop", "delay_seconds": 1, "run_at": "2030-01-01T00:00:00Z"}
    refused(await post("/jobs", json=both), 422, "RUN_AT_INVALID")
    far = {"kind": "jobs.noop", "run_at": "9999-01-01T00:00:00Z"}
    refused(await post("/jobs", json=far), 422, "RUN_AT_INVALID")
    odd = {"kind": "jobs.noop", "depends_on": ["#0"]}
    refused(await post("/jobs", json=odd), 422, "DEPENDENCY_INVALID")
    refused(
        await post("/jobs", json={"kind": "jobs.noop", "depends_on": [str(uuid4())]}),
        409,
        "DEPENDENCY_FAILED",
    )
    assert (await office.admin.get("/jobs")).json()["items"] == []


async def test_delayed_job_is_not_due_before_its_time(office: Office) -> None:
    await office.start_worker()
    later = await submit(office.admin, delay_seconds=3600)
    now = await submit(office.admin)
    assert (await ended(office.admin, now))["state"] == "succeeded"
    job = (await office.admin.get(f"/jobs/{later}")).json()
    assert job["state"] == "queued"
    assert job["run_at"] > job["created_at"]


# Batches


async def test_batch_answers_in_order_and_waits_inside_itself(office: Office) -> None:
    await office.start_worker()
    jobs = [{"kind": "jobs.echo", "payload": {"child": n}} for n in range(3)]
    jobs.append({"kind": "jobs.echo", "payload": {"merge": 1}, "depends_on": ["#0", "#1", "#2"]})
    results = (await office.admin.post("/jobs/batch", json={"jobs": jobs})).json()["results"]
    assert [item["status"] for item in results] == ["queued"] * 3 + ["waiting"]
    parent = await ended(office.admin, results[3]["job_id"])
    assert parent["state"] == "succeeded"
    assert set(parent["depends_on"]) == {item["job_id"] for item in results[:3]}
    children = [await ended(office.admin, item["job_id"]) for item in results[:3]]
    assert max(child["finished_at"] for child in children) <= parent["started_at"]


async def test_batch_sent_twice_is_the_same_work(office: Office) -> None:
    jobs = [
        {"kind": "jobs.echo", "payload": {"child": 1}},
        {"kind": "jobs.echo", "payload": {}, "depends_on": ["#0"]},
    ]
    first = (await office.admin.post("/jobs/batch", json={"jobs": jobs})).json()["results"]
    second = (await office.admin.post("/jobs/batch", json={"jobs": jobs})).json()["results"]
    assert [item["outcome"] for item in second] == ["existing", "existing"]
    assert [item["job_id"] for item in second] == [item["job_id"] for item in first]
    other = [{"kind": "jobs.echo", "payload": {"child": 2}}, jobs[1]]
    third = (await office.admin.post("/jobs/batch", json={"jobs": other})).json()["results"]
    assert third[1]["outcome"] == "created"


async def test_new_job_may_wait_for_one_of_its_batch_that_exists_already(office: Office) -> None:
    child = {"kind": "jobs.echo", "payload": {"shared": True}}
    stored = (await office.admin.post("/jobs", json=child)).json()["job_id"]
    jobs = [child, child, {"kind": "jobs.echo", "payload": {"merge": 2}, "depends_on": ["#0", "#1"]}]
    results = (await office.admin.post("/jobs/batch", json={"jobs": jobs})).json()["results"]
    assert [item["job_id"] for item in results[:2]] == [stored, stored]
    assert [item["outcome"] for item in results] == ["existing", "existing", "created"]
    assert (await office.admin.get(f"/jobs/{results[2]['job_id']}")).json()["depends_on"] == [stored]
    await office.start_worker()
    assert (await ended(office.admin, results[2]["job_id"]))["state"] == "succeeded"


async def test_twins_in_one_batch_are_one_job_that_others_may_wait_for(office: Office) -> None:
    twin = {"kind": "jobs.echo", "payload": {"twin": True}}
    jobs = [twin, twin, {"kind": "jobs.noop", "depends_on": ["#1"]}]
    results = (await office.admin.post("/jobs/batch", json={"jobs": jobs})).json()["results"]
    assert [item["outcome"] for item in results] == ["created", "existing", "created"]
    assert results[0]["job_id"] == results[1]["job_id"]
    await office.start_worker()
    assert (await ended(office.admin, results[2]["job_id"]))["state"] == "succeeded"


async def test_one_bad_job_refuses_its_whole_batch(office: Office) -> None:
    jobs = [{"kind": "jobs.noop"}, {"kind": "jobs.noop", "depends_on": ["#2"]}, {"kind": "jobs.noop"}]
    refused(await office.admin.post("/jobs/batch", json={"jobs": jobs}), 422, "DEPENDENCY_INVALID")
    jobs = [{"kind": "jobs.noop"}, {"kind": "no.such"}]
    refused(await office.admin.post("/jobs/batch", json={"jobs": jobs}), 422, "UNKNOWN_KIND")
    assert (await office.admin.get("/jobs")).json()["items"] == []


# Seeing and waiting


async def test_list_pages_through_everything_once_newest_first(office: Office) -> None:
    jobs = [{"kind": "jobs.noop", "unique": False} for _ in range(7)]
    made = (await office.admin.post("/jobs/batch", json={"jobs": jobs})).json()["results"]
    seen: list[str] = []
    cursor = None
    while True:
        params = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = (await office.admin.get("/jobs", params=params)).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == sorted((item["job_id"] for item in made), reverse=True)


async def test_list_filters_by_states_kind_and_queue(office: Office) -> None:
    await submit(office.admin, "jobs.noop")
    cancelled = await submit(office.admin, "jobs.echo")
    await office.admin.post(f"/jobs/{cancelled}/cancel")
    medium = await submit(office.admin, "jobs.noop", queue="medium")

    async def found(**params: object) -> set[str]:
        answer = await office.admin.get("/jobs", params=params)  # type: ignore[arg-type]
        return {item["id"] for item in answer.json()["items"]}

    assert await found(state="cancelled") == {cancelled}
    assert len(await found(state=["cancelled", "queued"])) == 3
    assert await found(kind="jobs.echo") == {cancelled}
    assert await found(queue="medium") == {medium}
    assert await found(tenant="nobody") == set()


@pytest.mark.parametrize("cursor", ["nonsense", "WyJub3QgYSB1dWlkIl0", "WzFd"])
async def test_malformed_cursor_is_refused(office: Office, cursor: str) -> None:
    for path in ("/jobs", "/problems"):
        refused(await office.admin.get(path, params={"cursor": cursor}), 422, "CURSOR_INVALID")


async def test_job_tells_its_whole_story(office: Office) -> None:
    await office.start_worker()
    payload = {"code": "TRANSIENT", "until_attempt": 3}
    job = await ended(
        office.admin, await submit(office.admin, "jobs.fail", payload=payload, external_ref="o-7")
    )
    assert (job["state"], job["attempt"], job["retry_count"]) == ("succeeded", 3, 2)
    assert job["result"] == {"succeeded_at_attempt": 3}
    assert (job["payload"], job["external_ref"], job["created_by"]) == (payload, "o-7", "default/admin")
    assert [event["to_state"] for event in job["timeline"]] == [
        *("queued", "running", "queued", "running", "queued", "running", "succeeded")
    ]
    assert [event["error_code"] for event in job["timeline"]].count("TRANSIENT") == 2
    assert job["timeline"][-1]["duration_ms"] is not None


async def test_waiting_answers_as_soon_as_the_job_ends_and_holds_no_connection(office: Office) -> None:
    job_ids = [await submit(office.admin, "jobs.echo", payload={"n": n}) for n in range(30)]
    polls = [asyncio.create_task(ended(office.admin, job_id)) for job_id in job_ids]
    # The pool has ten connections; with thirty polls open the API still answers.
    for _ in range(3):
        assert (await office.admin.get("/jobs", timeout=5)).status_code == 200
    assert not any(poll.done() for poll in polls)
    await office.start_worker()
    done = await asyncio.gather(*polls)
    assert {job["state"] for job in done} == {"succeeded"}


async def test_a_poll_that_could_wait_for_long_answers_when_its_job_ends(office: Office) -> None:
    job_id = await submit(office.admin, "jobs.sleep", payload={"seconds": 0.3})
    poll = asyncio.create_task(office.admin.get(f"/jobs/{job_id}", params={"wait": 30}, timeout=60))
    await office.start_worker()
    answer = await poll
    late_by = datetime.now(UTC) - datetime.fromisoformat(answer.json()["finished_at"])
    assert answer.json()["state"] == "succeeded"
    # Not at the end of its time, nor with the next of the client's own polls.
    assert late_by < timedelta(seconds=10)


async def test_waiting_ends_with_the_state_of_now_when_time_is_up(office: Office) -> None:
    job_id = await submit(office.admin)
    started = time.monotonic()
    job = (await office.admin.get(f"/jobs/{job_id}", params={"wait": 0.3})).json()
    assert job["state"] == "queued"
    assert 0.25 < time.monotonic() - started < 3
    refused(await office.admin.get(f"/jobs/{job_id}", params={"wait": 31}), 422, "VALIDATION_FAILED")


async def test_stopping_api_answers_its_long_polls_first(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    token = await ensure_admin_token(database, tmp_path / "admin.token")
    async with running_quire("api", "--port", "0", dsn=dsn, directory=tmp_path) as quire:
        url = (await quire.line_with("api_listening"))["url"]
        async with client_of(url, token) as client:
            job_id = await submit(client)
            poll = asyncio.create_task(client.get(f"/jobs/{job_id}", params={"wait": 30}))
            # A request that was sent later has been answered, so the poll is being waited for.
            await client.get(f"/jobs/{job_id}", params={"wait": 0.2})
            started = time.monotonic()
            quire.process.send_signal(signal.SIGTERM)
            assert (await poll).json()["state"] == "queued"
            assert await asyncio.wait_for(quire.process.wait(), 8) == 0
        assert time.monotonic() - started < 8


# Artifacts


async def test_artifact_comes_whole_in_ranges_and_by_its_hash(office: Office) -> None:
    job_id = await submit(office.admin, "jobs.store", payload={"text": "quire ", "repeat": 1000})
    pending = await office.admin.get(f"/jobs/{job_id}/artifact")
    assert (pending.status_code, pending.headers["Retry-After"]) == (202, "1")
    assert pending.json()["state"] == "queued"
    await office.start_worker()
    job = await ended(office.admin, job_id)
    whole = await office.admin.get(job["artifact"]["path"])
    assert whole.content == b"quire " * 1000
    digest = hashlib.sha256(whole.content).hexdigest()
    assert whole.headers["ETag"] == f'"{digest}"'
    assert job["artifact"]["sha256"] == job["result"]["sha256"] == digest
    assert 'filename="stored.txt"' in whole.headers["Content-Disposition"]
    part = await office.admin.get(job["artifact"]["path"], headers={"Range": "bytes=6-10"})
    assert (part.status_code, part.content) == (206, b"quire")
    assert part.headers["Content-Range"] == "bytes 6-10/6000"
    beyond = await office.admin.get(job["artifact"]["path"], headers={"Range": "bytes=6000-"})
    assert beyond.status_code == 416
    known = await office.admin.get(job["artifact"]["path"], headers={"If-None-Match": f'"{digest}"'})
    assert (known.status_code, known.content) == (304, b"")


async def test_signed_url_of_an_artifact_needs_no_token(office: Office) -> None:
    await office.start_worker()
    job = await ended(office.admin, await submit(office.admin, "jobs.store", payload={"text": "signed"}))
    path = job["artifact"]["download_url"].partition("/storage/")[2]
    async with client_of(office.url) as stranger:
        assert (await stranger.get(f"/storage/{path}")).content == b"signed"
        refused(await stranger.get(job["artifact"]["path"]), 401, "UNAUTHENTICATED")


async def test_a_signed_url_ends_with_its_artifact_and_there_is_none_past_its_time(office: Office) -> None:
    await office.start_worker()
    job = await ended(office.admin, await submit(office.admin, "jobs.store", payload={"text": "for a while"}))
    async with office.database.acquire() as connection:
        sooner = await connection.fetchval(
            "UPDATE jobs SET expires_at = now() + interval '100 s' RETURNING expires_at"
        )
    shown = (await office.admin.get(f"/jobs/{job['id']}")).json()
    assert datetime.fromisoformat(shown["artifact"]["download_url_expires_at"]) <= sooner
    async with office.database.acquire() as connection:
        await connection.execute("UPDATE jobs SET expires_at = now()")
    over = (await office.admin.get(f"/jobs/{job['id']}")).json()
    assert (over["state"], over["artifact"]) == ("expired", None)
    gone = refused(await office.admin.get(job["artifact"]["path"]), 404, "ARTIFACT_NOT_FOUND")
    assert gone["state"] == "expired"
    listed = (await office.admin.get("/jobs", params={"state": "succeeded"})).json()["items"]
    assert listed == []


async def test_job_without_artifact_says_so(office: Office) -> None:
    await office.start_worker()
    done = await ended(office.admin, await submit(office.admin))
    dead = await dead_letter(office.admin)
    for job_id in (done["id"], dead["id"]):
        refused(await office.admin.get(f"/jobs/{job_id}/artifact"), 404, "ARTIFACT_NOT_FOUND")
    refused(await office.admin.get(f"/jobs/{uuid4()}/artifact"), 404, "JOB_NOT_FOUND")
    refused(await office.admin.get("/jobs/not-an-id/artifact"), 404, "ID_INVALID")


# Who sees what


async def test_foreign_job_does_not_exist_for_a_user_nor_for_another_tenant(office: Office) -> None:
    ann, bob = await office.caller("ann"), await office.caller("bob")
    foreign_operator = await office.caller("eve", "operator", tenant="other")
    job_id = await submit(ann)
    for stranger in (bob, foreign_operator):
        for method, path in (
            ("GET", f"/jobs/{job_id}"),
            ("GET", f"/jobs/{job_id}/artifact"),
            ("POST", f"/jobs/{job_id}/cancel"),
            ("POST", f"/jobs/{job_id}/retry"),
        ):
            refused(await stranger.request(method, path), 404, "JOB_NOT_FOUND")
        assert (await stranger.get("/jobs")).json()["items"] == []
        waits = {"kind": "jobs.noop", "depends_on": [job_id]}
        refused(await stranger.post("/jobs", json=waits), 409, "DEPENDENCY_FAILED")
    operator = await office.caller("olga", "operator")
    assert (await operator.get(f"/jobs/{job_id}")).status_code == 200
    assert (await office.admin.get("/jobs", params={"tenant": "default"})).json()["items"][0]["id"] == job_id
    refused(await operator.get("/jobs", params={"tenant": "other"}), 403, "SCOPE_REQUIRED")


async def test_platform_scope_sees_every_tenant(office: Office) -> None:
    eve = await office.caller("eve", tenant="other")
    job_id = await submit(eve)
    assert (await office.admin.get(f"/jobs/{job_id}")).json()["tenant_id"] == "other"
    assert (await office.admin.get("/jobs", params={"tenant": "other"})).json()["items"][0]["id"] == job_id


async def test_who_asked_for_the_same_work_sees_it_too(office: Office) -> None:
    ann, bob = await office.caller("ann"), await office.caller("bob")
    wanted = {"kind": "jobs.echo", "payload": {"shared": 1}}
    job_id = (await ann.post("/jobs", json=wanted)).json()["job_id"]
    assert (await bob.post("/jobs", json=wanted)).json()["job_id"] == job_id
    assert (await bob.get(f"/jobs/{job_id}")).status_code == 200
    assert [item["id"] for item in (await bob.get("/jobs")).json()["items"]] == [job_id]


# Cancel


async def test_user_withdraws_their_own_interest_and_the_last_one_cancels(office: Office) -> None:
    ann, bob = await office.caller("ann"), await office.caller("bob")
    wanted = {"kind": "jobs.echo", "payload": {"shared": 2}}
    job_id = (await ann.post("/jobs", json=wanted)).json()["job_id"]
    await bob.post("/jobs", json=wanted)
    assert (await ann.post(f"/jobs/{job_id}/cancel")).json()["outcome"] == "interest_withdrawn"
    assert (await bob.get(f"/jobs/{job_id}")).json()["state"] == "queued"
    assert (await bob.post(f"/jobs/{job_id}/cancel")).json()["outcome"] == "cancelled"
    assert (await bob.post(f"/jobs/{job_id}/cancel")).json()["outcome"] == "already_ended"


async def test_operator_cancels_for_all(office: Office) -> None:
    ann, operator = await office.caller("ann"), await office.caller("olga", "operator")
    job_id = await submit(ann)
    poll = asyncio.create_task(ended(ann, job_id))
    assert (await operator.post(f"/jobs/{job_id}/cancel")).json()["outcome"] == "cancelled"
    assert (await poll)["state"] == "cancelled"


async def test_running_job_is_cancelled_within_moments(office: Office) -> None:
    await office.start_worker()
    job_id = await submit(office.admin, "jobs.sleep", payload={"seconds": 600})

    async def running() -> bool:
        return bool((await office.admin.get(f"/jobs/{job_id}")).json()["state"] == "running")

    await until(running)
    started = time.monotonic()
    assert (await office.admin.post(f"/jobs/{job_id}/cancel")).json()["outcome"] == "cancelling"
    assert (await ended(office.admin, job_id))["state"] == "cancelled"
    assert time.monotonic() - started < 10


# Problems


async def test_dead_letter_has_a_problem_and_its_approved_retry_runs_it_again(office: Office) -> None:
    await office.start_worker()
    dead = await dead_letter(office.admin, external_ref="case-9")
    problem = (await office.admin.get(f"/problems/{dead['problem_id']}")).json()
    assert (problem["job_id"], problem["error_code"]) == (dead["id"], "TERMINAL")
    assert (problem["task_type"], problem["external_ref"]) == ("jobs.fail", "case-9")
    assert problem["recommendation"]
    assert problem["decisions"] == ["retry", "discard"]
    decided = (await office.admin.post(f"/jobs/{dead['id']}/retry")).json()
    assert (decided["user_decision"], decided["decided_by"]) == ("retry", "default/admin")
    again = await ended(office.admin, dead["id"])
    assert [event["reason"] for event in again["timeline"]].count("restarted") == 1
    assert again["problem_id"] not in (None, dead["problem_id"])
    everything = (await office.admin.get("/problems", params={"decided": True})).json()["items"]
    assert len(everything) == 2
    assert len((await office.admin.get("/problems")).json()["items"]) == 1


async def test_problem_is_decided_once(office: Office) -> None:
    await office.start_worker()
    path = f"/problems/{(await dead_letter(office.admin))['problem_id']}/decide"
    answers = await asyncio.gather(*(office.admin.post(path, json={"decision": "discard"}) for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    late = await office.admin.post(path, json={"decision": "retry"})
    refused(late, 409, "PROBLEM_ALREADY_DECIDED")


async def test_discarded_job_is_given_up_for_good(office: Office) -> None:
    await office.start_worker()
    dead = await dead_letter(office.admin)
    await office.admin.post(f"/problems/{dead['problem_id']}/decide", json={"decision": "discard"})
    assert (await office.admin.get(f"/jobs/{dead['id']}")).json()["state"] == "expired"
    refused(await office.admin.post(f"/jobs/{dead['id']}/retry"), 409, "JOB_STATE_CONFLICT")


async def test_retry_that_would_double_newer_work_is_refused_with_its_id(office: Office) -> None:
    await office.start_worker(WORKER_QUEUES="default")
    dead = await dead_letter(office.admin, unique=True)
    await office.admin.post("/queues/default/pause")
    wanted = {"kind": "jobs.fail", "payload": {"code": "TERMINAL"}}
    newer = (await office.admin.post("/jobs", json=wanted)).json()
    assert newer["outcome"] == "created"
    answer = await office.admin.post(f"/problems/{dead['problem_id']}/decide", json={"decision": "retry"})
    assert refused(answer, 409, "NEWER_JOB_EXISTS")["job_id"] == newer["job_id"]
    many = {"decision": "retry", "ids": [dead["problem_id"]]}
    (verdict,) = (await office.admin.post("/problems/decide", json=many)).json()["results"]
    assert (verdict["ok"], verdict["error_code"]) == (False, "NEWER_JOB_EXISTS")
    assert verdict["job_id"] == newer["job_id"]


async def test_many_problems_are_decided_by_id_or_filter_each_on_its_own(office: Office) -> None:
    await office.start_worker()
    first, second = await dead_letter(office.admin, "ALPHA"), await dead_letter(office.admin, "BETA")
    third = await dead_letter(office.admin, "BETA")
    unknown = str(uuid4())
    ids = [first["problem_id"], unknown]
    answer = (await office.admin.post("/problems/decide", json={"decision": "discard", "ids": ids})).json()
    assert [item["ok"] for item in answer["results"]] == [True, False]
    assert answer["results"][1]["error_code"] == "PROBLEM_NOT_FOUND"
    chosen = {"decision": "discard", "filter": {"error_code": "BETA"}}
    answer = (await office.admin.post("/problems/decide", json=chosen)).json()
    assert {item["id"] for item in answer["results"]} == {second["problem_id"], third["problem_id"]}
    assert not answer["more"]
    assert (await office.admin.get("/problems")).json()["items"] == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"decision": "bless", "ids": [str(uuid4())]}, "DECISION_UNKNOWN"),
        ({"decision": "retry"}, "SELECTION_INVALID"),
        ({"decision": "retry", "filter": {}}, "SELECTION_INVALID"),
        ({"decision": "retry", "ids": [], "filter": {"queue": "default"}}, "VALIDATION_FAILED"),
        ({"decision": "retry", "ids": [str(uuid4()) for _ in range(501)]}, "VALIDATION_FAILED"),
    ],
)
async def test_unclear_decisions_are_refused(office: Office, body: dict[str, object], code: str) -> None:
    refused(await office.admin.post("/problems/decide", json=body), 422, code)


async def test_user_decides_about_their_own_jobs_only(office: Office) -> None:
    await office.start_worker()
    ann, bob = await office.caller("ann"), await office.caller("bob")
    eve = await office.caller("eve", "admin", tenant="other")
    dead = await dead_letter(ann)
    path = f"/problems/{dead['problem_id']}"
    for stranger in (bob, eve):
        refused(await stranger.get(path), 404, "PROBLEM_NOT_FOUND")
        refused(await stranger.post(f"{path}/decide", json={"decision": "retry"}), 404, "PROBLEM_NOT_FOUND")
        assert (await stranger.get("/problems")).json()["items"] == []
        chosen = {"decision": "discard", "filter": {"error_code": "TERMINAL"}}
        assert (await stranger.post("/problems/decide", json=chosen)).json()["results"] == []
    assert [item["id"] for item in (await ann.get("/problems")).json()["items"]] == [dead["problem_id"]]
    assert (await ann.post(f"{path}/decide", json={"decision": "discard"})).status_code == 200


# Queues, workers, metrics


async def test_paused_queue_holds_its_jobs_until_it_is_resumed(office: Office) -> None:
    await office.start_worker()
    paused = (await office.admin.post("/queues/default/pause")).json()
    assert paused["paused_by"] == "default/admin"
    job_id = await submit(office.admin)
    other = await submit(office.admin, queue="medium")
    assert (await ended(office.admin, other))["state"] == "succeeded"
    queues = {item["name"]: item for item in (await office.admin.get("/queues")).json()["items"]}
    assert (queues["default"]["queued"], queues["default"]["live_workers"]) == (1, 1)
    assert queues["default"]["limits"]["hard_limit_seconds"] == 300
    assert (await office.admin.post("/queues/default/resume")).json()["paused_at"] is None
    assert (await ended(office.admin, job_id))["state"] == "succeeded"
    refused(await office.admin.post("/queues/nowhere/pause"), 404, "QUEUE_NOT_FOUND")


async def test_workers_and_integrations_are_visible_to_operators_of_the_platform_alone(
    office: Office,
) -> None:
    await office.start_worker(WORKER_QUEUES="default,medium", WORKER_CONCURRENCY=3)
    operator = await office.caller("olga", "operator", "default", "platform")
    tenants_own, ann = await office.caller("otto", "operator"), await office.caller("ann")

    async def one_worker() -> bool:
        return len((await operator.get("/workers")).json()["items"]) == 1

    await until(one_worker)
    (worker,) = (await operator.get("/workers")).json()["items"]
    assert (worker["queues"], worker["concurrency"], worker["claiming"]) == (["default", "medium"], 3, True)
    names = {item["name"]: item["breaker"] for item in (await operator.get("/integrations")).json()["items"]}
    assert names == {"gateway": "closed", "metered": "closed", "narrow": "closed"}
    for method, path in (
        ("GET", "/workers"),
        ("GET", "/integrations"),
        ("GET", "/queues"),
        ("POST", "/queues/default/pause"),
        ("POST", "/queues/default/resume"),
    ):
        refused(await ann.request(method, path), 403, "ROLE_REQUIRED")
        refused(await tenants_own.request(method, path), 403, "SCOPE_REQUIRED")


async def test_gauges_tell_of_queues_breakers_and_workers(office: Office) -> None:
    await office.start_worker(WORKER_QUEUES="medium")
    await submit(office.admin)
    await office.admin.post("/queues/default/pause")
    wanted = (
        'quire_queue_jobs{queue="default",state="queued"} 1.0',
        'quire_queue_paused{queue="default"} 1.0',
        "quire_workers_live 1.0",
        'quire_breaker_open{integration="gateway"} 0.0',
        'quire_breaker_open{integration="metered"} 0.5',
        'quire_breaker_open{integration="narrow"} 1.0',
    )
    for name, breaker in (("metered", "half_open"), ("narrow", "open")):
        async with office.database.acquire() as connection:
            await connection.execute("UPDATE integrations SET breaker = $2 WHERE name = $1", name, breaker)

    async def told() -> bool:
        text = (await office.admin.get("/metrics")).text
        return all(line in text for line in wanted)

    await until(told, 15)


# The database goes away


async def test_while_the_database_is_down_answers_are_503_and_come_back_by_themselves(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "postgres")
    dsn = server.start()
    try:
        await migrate(dsn)
        database = await Database.open(dsn, pool_max=2)
        token = await ensure_admin_token(database, tmp_path / "admin.token")
        await database.close()
        async with serving_api(engine_settings(dsn, tmp_path)) as url, client_of(url, token) as client:
            job_id = await submit(client)
            await asyncio.to_thread(server.stop)
            for method, path, body in (
                ("GET", "/jobs", None),
                ("GET", f"/jobs/{job_id}?wait=5", None),
                ("POST", "/jobs", {"kind": "jobs.noop"}),
                ("POST", f"/jobs/{job_id}/cancel", None),
            ):
                started = time.monotonic()
                answer = await client.request(method, path, json=body)
                assert refused(answer, 503, "DATABASE_UNAVAILABLE")["retryable"]
                assert time.monotonic() - started < 2
            await asyncio.to_thread(server.start)

            async def back() -> bool:
                return (await client.get(f"/jobs/{job_id}")).status_code == 200

            await until(back, 15)
    finally:
        server.stop()

"""The commands on jobs, against a served API and a real worker: what they say and how they exit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.engine_fixture import until
from tests.support.jobs_office import Office, dead_letter, ended, open_office, submit
from tests.support.quire_command import QuireCommand

from quire.runtime.database import Database


@pytest.fixture
async def office(dsn: str, database: Database, tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(dsn, database, tmp_path) as office:
        yield office


@pytest.fixture
def quire(office: Office) -> QuireCommand:
    return QuireCommand(office.url, office.admin_token, office.directory)


# Submitting


async def test_submit_says_what_became_of_it_and_the_same_work_is_the_same_job(quire: QuireCommand) -> None:
    first = await quire("jobs", "submit", "jobs.echo", '{"a": 1}', "--json")
    second = await quire("jobs", "submit", "jobs.echo", '{"a": 1}', "--json")
    again = await quire("jobs", "submit", "jobs.echo", '{"a": 1}', "--again")
    assert (first.code, first.json["outcome"]) == (0, "created")
    assert (second.json["job_id"], second.json["outcome"]) == (first.json["job_id"], "existing")
    assert again.out.endswith(" created, queued\n")
    assert first.json["job_id"] not in again.out


async def test_payload_comes_from_the_line_a_file_or_standard_input(
    office: Office, quire: QuireCommand
) -> None:
    (office.directory / "payload.json").write_text('{"from": "file"}')
    from_file = await quire("jobs", "submit", "jobs.echo", "@payload.json", "--json")
    from_input = await quire("jobs", "submit", "jobs.echo", "-", "--json", stdin='{"from": "stdin"}')
    shown = [
        (await office.admin.get(f"/jobs/{said.json['job_id']}")).json()["payload"]
        for said in (from_file, from_input)
    ]
    assert shown == [{"from": "file"}, {"from": "stdin"}]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["jobs.echo", "not json"], "JSON_INVALID: "),
        (["jobs.echo", "[1]"], "JSON_INVALID: "),
        (
            ["jobs.echo", '{"a": {"b": 1, "b": 2}}'],
            "JSON_DUPLICATE_KEY: payload: the key 'b' is given twice in one object\n",
        ),
        (["jobs.echo", "@gone.json"], "LOCAL_FILE_UNUSABLE: gone.json: there is no such file or directory\n"),
        (["no.such"], "UNKNOWN_KIND: "),
        (["jobs.sleep"], "PAYLOAD_UNDECODABLE: "),
        (["jobs.noop", "--size-class", "giant"], "VALIDATION_FAILED: body.size_class: "),
    ],
)
async def test_what_cannot_be_submitted_is_one_line_and_exit_1(
    quire: QuireCommand, arguments: list[str], error: str
) -> None:
    said = await quire("jobs", "submit", *arguments)
    assert said.code == 1
    assert said.err.startswith(f"error: {error}")
    assert said.err.count("\n") == 1
    assert said.out == ""


async def test_submit_and_wait_shows_the_story_and_saves_the_artifact(
    office: Office, quire: QuireCommand
) -> None:
    await office.start_worker()
    said = await quire("jobs", "submit", "jobs.store", '{"text": "kept"}', "--wait", "--output", "kept.txt")
    assert said.code == 0, said.err
    assert (office.directory / "kept.txt").read_text() == "kept"
    assert "saved kept.txt (4 B)" in said.err
    for word in ("succeeded", "stored.txt, 4 B", "time", "after", "took", "worker "):
        assert word in said.out


# Waiting


async def test_job_that_fails_has_its_own_exit_code(office: Office, quire: QuireCommand) -> None:
    await office.start_worker()
    said = await quire("jobs", "submit", "jobs.fail", '{"code": "BROKEN", "message": "on [/fire]"}', "--wait")
    assert said.code == 4
    assert "BROKEN: on [/fire]" in said.out


async def test_job_that_has_not_ended_in_time_has_its_own_exit_code(
    office: Office, quire: QuireCommand
) -> None:
    job_id = await submit(office.admin)
    said = await quire("jobs", "wait", job_id, "--timeout", "0.2", "--json")
    assert (said.code, said.json["state"]) == (5, "queued")


async def test_wait_returns_when_the_job_ends(office: Office, quire: QuireCommand) -> None:
    job_ids = [await submit(office.admin), await submit(office.admin)]
    waiting = asyncio.create_task(quire("jobs", "wait", *job_ids))
    await office.start_worker()
    said = await waiting
    assert (said.code, said.out) == (0, "2 succeeded\n")


async def test_batch_of_lines_is_done_in_order_and_may_wait_inside_itself(
    office: Office, quire: QuireCommand
) -> None:
    await office.start_worker()
    lines = [{"kind": "jobs.echo", "payload": {"n": n}} for n in range(40)]
    lines.append({"kind": "jobs.echo", "payload": {"last": True}, "depends_on": ["#0", "#39"]})
    text = "\n".join(json.dumps(line) for line in lines) + "\n\n"
    said = await quire("jobs", "batch", "-", "--wait", "--json", stdin=text)
    assert said.code == 0
    assert [job["payload"] for job in said.json] == [line["payload"] for line in lines]
    assert {job["state"] for job in said.json} == {"succeeded"}
    broken = await quire("jobs", "batch", "-", stdin='{"kind": "jobs.noop"}\n{oops\n')
    assert broken.code == 1
    assert broken.err.startswith("error: JSON_INVALID: line 2: ")


# Looking


async def test_list_and_show_speak_json_and_tables(office: Office, quire: QuireCommand) -> None:
    first, second = await submit(office.admin), await submit(office.admin, external_ref="order-7")
    listed = await quire("jobs", "list", "--state", "queued", "--limit", "1", "--json")
    assert [job["id"] for job in listed.json] == [second]
    table = await quire("jobs", "list")
    assert first in table.out
    assert "order-7" in table.out
    shown = await quire("jobs", "show", first)
    assert "queued" in shown.out
    assert "default/admin" in shown.out
    assert (await quire("jobs", "show", first, "--json")).json["id"] == first


async def test_queues_and_workers_are_listed_paused_and_resumed(office: Office, quire: QuireCommand) -> None:
    await office.start_worker(WORKER_QUEUES="default")

    async def worker_seen() -> bool:
        return len((await quire("workers", "--json")).json) == 1

    await until(worker_seen)
    assert "claiming" in (await quire("workers")).out
    assert "paused by default/admin" in (await quire("queues", "pause", "default")).out
    queues = {item["name"]: item for item in (await quire("queues", "list", "--json")).json}
    assert queues["default"]["paused_by"] == "default/admin"
    held = await quire("jobs", "wait", await submit(office.admin), "--timeout", "0.2")
    assert held.code == 5
    assert "its queue is paused, by default/admin " in held.err
    assert "its queue is paused, by default/admin " in held.out
    assert "paused" not in (await quire("queues", "resume", "default")).out
    assert "held" not in (await quire("queues", "list")).out
    async with office.database.acquire() as connection:
        await connection.execute("UPDATE integrations SET breaker = 'open' WHERE name = 'gateway'")
    assert "held: no answer from gateway" in (await quire("queues", "list")).out
    refused = await quire("queues", "pause", "nowhere")
    assert (refused.code, refused.err.split(": ")[1]) == (1, "QUEUE_NOT_FOUND")


async def test_queue_with_work_and_no_worker_is_noted(office: Office, quire: QuireCommand) -> None:
    assert "no worker" not in (await quire("queues", "list")).out
    job_id = await submit(office.admin)
    assert "no worker" in (await quire("queues", "list")).out
    waited = await quire("jobs", "wait", job_id, "--timeout", "0.2")
    assert waited.code == 5
    assert f"{job_id} waits: no live worker serves its queue, default" in waited.err
    await office.start_worker(WORKER_QUEUES="default")
    await ended(office.admin, job_id)
    assert "no worker" not in (await quire("queues", "list")).out


async def test_commands_on_what_all_tenants_share_say_which_token_they_need(
    office: Office, quire: QuireCommand
) -> None:
    operator = await office.caller("olga", "operator")
    token = operator.headers["Authorization"].removeprefix("Bearer ")
    for command in (["queues", "list"], ["queues", "pause", "default"], ["workers"]):
        said = await quire(*command, QUIRE_TOKEN=token)
        assert said.code == 1
        assert said.err.startswith(
            "error: SCOPE_REQUIRED: this needs the role operator and the scope platform. The token of QUIRE_TOKEN"
        ), said.err
        assert "quire token create NAME --role ROLE --scope SCOPE" in said.err
    assert (await quire("problems", "list", QUIRE_TOKEN=token)).code == 0


# Deciding


async def test_problems_are_listed_shown_and_decided(office: Office, quire: QuireCommand) -> None:
    await office.start_worker()
    first, second = await dead_letter(office.admin, "ALPHA"), await dead_letter(office.admin, "BETA")
    assert {item["error_code"] for item in (await quire("problems", "list", "--json")).json} == {
        "ALPHA",
        "BETA",
    }
    part, whole = [await quire("problems", "list", "--limit", number) for number in "12"]
    assert (part.err, whole.err) == ("There are more: --limit shows more than the newest 1.\n", "")
    assert [len(said.out.splitlines()) for said in (part, whole)] == [2, 3]
    shown = await quire("problems", "show", first["problem_id"])
    assert "retry | discard" in shown.out
    retried = await quire("jobs", "retry", first["id"], "--wait")
    assert retried.code == 4
    assert "restarted" in retried.out
    discarded = await quire("problems", "decide", "discard", "--code", "BETA", "--json")
    assert [item["job_id"] for item in discarded.json] == [second["id"]]
    late = await quire("problems", "decide", "discard", second["problem_id"])
    assert late.code == 1
    assert "PROBLEM_ALREADY_DECIDED" in late.out
    assert (await quire("problems", "decide", "discard")).code == 2


async def test_cancel_tells_the_outcome(office: Office, quire: QuireCommand) -> None:
    job_id = await submit(office.admin)
    assert (await quire("jobs", "cancel", job_id)).out == f"{job_id} cancelled\n"
    assert (await quire("jobs", "cancel", job_id, "--json")).json[0]["outcome"] == "already_ended"
    retried = await quire("jobs", "retry", job_id)
    assert (retried.code, "submit it once more" in retried.err) == (1, True)
    assert (await ended(office.admin, job_id))["state"] == "cancelled"


# Finding the API


async def test_api_that_is_not_there_is_exit_3_and_no_address_is_exit_1(
    quire: QuireCommand, tmp_path: Path
) -> None:
    away = await quire("jobs", "list", "--url", "http://127.0.0.1:1")
    assert (away.code, away.err.split(": ")[1]) == (3, "API_UNREACHABLE")
    assert "nothing answers at http://127.0.0.1:1: start it with `quire up`" in away.err
    nowhere = await quire("jobs", "list", "--data-dir", str(tmp_path / "none"), QUIRE_URL="")
    assert (nowhere.code, nowhere.err.split(": ")[1]) == (1, "SETTINGS_INVALID")
    assert "quire up" in nowhere.err
    assert "--data-dir" in nowhere.err


async def test_kept_token_is_shown_to_the_api_of_its_directory_only(
    office: Office, quire: QuireCommand
) -> None:
    (office.directory / "api.url").write_text(office.url + "\n")
    options = ("--data-dir", str(office.directory))
    assert (await quire("jobs", "list", *options, QUIRE_URL="", QUIRE_TOKEN="")).code == 0
    elsewhere = await quire("jobs", "list", *options, QUIRE_URL="http://127.0.0.1:9", QUIRE_TOKEN="")
    assert (elsewhere.code, elsewhere.err) == (1, "error: SETTINGS_INVALID: set --token or QUIRE_TOKEN\n")
    wrong = await quire("jobs", "list", "--token", "qr_wrong")
    assert (wrong.code, wrong.err.split(": ")[1]) == (1, "TOKEN_INVALID")
    assert f"{office.url} refuses the token of --token" in wrong.err

"""Who may have the bytes of a job, at every door that leads to them: one rule, for each kind of caller."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.support.engine_fixture import engine_settings
from tests.support.jobs_office import Office, ended, open_office, refused
from tests.support.press import document

from quire.entrypoints.engine import open_engine
from quire.entrypoints.worker import build_worker
from quire.jobs import Handler, JobContext
from quire.runtime.database import Database

PDF = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n%%EOF\n"

# The creator, whoever asked for the same, an admin of the tenant, an admin of the whole platform.
MAY = ("creator", "sharer", "admin", "platform_admin")
# They see that the job exists, and what became of it.
SEE_ONLY = ("operator", "platform_operator")
# For them there is no such job, save where a seed asks for 403 inside a tenant.
NEIGHBOUR = "other"
FOREIGN = ("foreign_admin", "foreign_user")


@dataclass
class Cast:
    office: Office
    people: dict[str, httpx.AsyncClient]

    def __getitem__(self, name: str) -> httpx.AsyncClient:
        return self.people[name]


@contextlib.asynccontextmanager
async def storing_worker(office: Office) -> AsyncIterator[None]:
    """A worker that stores a file for every kind with a door of its own: neither browser nor gateway matters here."""

    def storing(kind: str) -> Handler:
        async def handle(payload: object, context: JobContext) -> object:
            data = f"{kind} {json.dumps(payload, sort_keys=True)}".encode()
            artifact = await context.put_artifact(data, filename="file", content_type="application/pdf")
            return {"sha256": artifact.sha256, "size_bytes": artifact.size_bytes}

        return Handler(kind, handle)

    settings = engine_settings(office.dsn, office.directory)
    handlers = [storing(kind) for kind in ("jobs.store", "render.pdf", "convert.xml")]
    async with open_engine(settings, application="test-worker", handlers=handlers) as engine:
        worker = build_worker(engine, settings)
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            worker.stop()
            await asyncio.wait_for(task, 15)


@pytest.fixture
async def cast(
    dsn: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Cast]:
    monkeypatch.setenv("QUIRE_ALLOW_PRIVATE_WEBHOOKS", "true")
    monkeypatch.setenv("QUIRE_RENDER_FINGERPRINT", "test")
    monkeypatch.setenv("GATEWAY_URL", "http://127.0.0.1:9")
    async with open_office(dsn, database, tmp_path) as office:
        people = {
            "creator": await office.caller("ann"),
            "sharer": await office.caller("bob"),
            "other": await office.caller("eve"),
            "operator": await office.caller("olga", "operator"),
            "admin": await office.caller("ada", "admin"),
            "foreign_user": await office.caller("ann", tenant="other"),
            "foreign_admin": await office.caller("mallory", "admin", "other"),
            "platform_operator": await office.caller("otto", "operator", "other", "platform"),
            "platform_admin": await office.caller("root", "admin", "other", "platform"),
        }
        async with storing_worker(office):
            yield Cast(office, people)


async def asked(client: httpx.AsyncClient, kind: str) -> str:
    if kind == "convert.xml":
        file = {"file": ("a.pdf", PDF, "application/pdf")}
        answer = await client.post("/convert/jobs", files=file, data={"mapping": "alto"})
    elif kind == "render.pdf":
        answer = await client.post("/pdf/jobs", json=document("bytes"))
    else:
        answer = await client.post("/jobs", json={"kind": kind, "payload": {"text": "secret"}})
    assert answer.status_code in (200, 201, 202), answer.text
    return str(answer.json()["job_id"])


async def made(cast: Cast, kind: str) -> str:
    """A finished job of the creator, which the sharer has asked for, too."""
    job_id = await asked(cast["creator"], kind)
    assert await asked(cast["sharer"], kind) == job_id
    assert (await ended(cast["creator"], job_id))["state"] == "succeeded"
    return job_id


DOORS = {
    "jobs.store": ("/jobs/{}/artifact", "ARTIFACT_NOT_YOURS"),
    "render.pdf": ("/pdf/jobs/{}/download", "DOCUMENT_NOT_YOURS"),
    "convert.xml": ("/convert/jobs/{}/result", "CONVERSION_NOT_YOURS"),
}


@pytest.mark.parametrize("kind", DOORS)
async def test_bytes_are_given_to_creator_sharer_and_admin_at_every_door(cast: Cast, kind: str) -> None:
    job_id = await made(cast, kind)
    own_door, own_code = DOORS[kind]
    for path, code, to_neighbour in (
        ("/jobs/{}/artifact", "ARTIFACT_NOT_YOURS", (404, "JOB_NOT_FOUND")),
        (own_door, own_code, (404, "JOB_NOT_FOUND") if kind == "jobs.store" else (403, own_code)),
    ):
        url = path.format(job_id)
        for name in MAY:
            answer = await cast[name].get(url)
            assert answer.status_code == 200, (name, url, answer.text)
            assert answer.content.startswith(kind.encode())
        for name in SEE_ONLY:
            refused(await cast[name].get(url), 403, code)
        refused(await cast[NEIGHBOUR].get(url), *to_neighbour)
        for name in FOREIGN:
            refused(await cast[name].get(url), 404, "JOB_NOT_FOUND")


@pytest.mark.parametrize("kind", DOORS)
async def test_job_page_signs_a_url_only_for_who_may_have_the_bytes(cast: Cast, kind: str) -> None:
    job_id = await made(cast, kind)
    for name in MAY:
        artifact = (await cast[name].get(f"/jobs/{job_id}")).json()["artifact"]
        assert "/storage/" in artifact["download_url"], name
    for name in SEE_ONLY:
        answer = await cast[name].get(f"/jobs/{job_id}")
        artifact = answer.json()["artifact"]
        assert (artifact["download_url"], artifact["download_url_expires_at"]) == (None, None), name
        assert "/storage/" not in answer.text
    for name in (NEIGHBOUR, *FOREIGN):
        refused(await cast[name].get(f"/jobs/{job_id}"), 404, "JOB_NOT_FOUND")
    for name in cast.people:
        assert "/storage/" not in (await cast[name].get("/jobs")).text


@pytest.mark.parametrize(("kind", "path"), [("render.pdf", "/pdf/jobs"), ("convert.xml", "/convert/jobs")])
async def test_list_holds_exactly_what_its_reader_may_open(cast: Cast, kind: str, path: str) -> None:
    job_id = await made(cast, kind)
    for name, client in cast.people.items():
        items = (await client.get(path)).json()["items"]
        assert [item["job_id"] for item in items] == ([job_id] if name in MAY else []), name
        for item in items:
            assert (await client.get(f"{path}/{item['job_id']}")).status_code == 200


async def test_hash_is_known_only_to_who_may_have_the_document(cast: Cast) -> None:
    job_id = await made(cast, "render.pdf")
    pdf = (await cast["creator"].get(f"/pdf/jobs/{job_id}/download")).content
    sha256 = hashlib.sha256(pdf).hexdigest()
    for name, client in cast.people.items():
        found = (await client.get("/pdf/verify", params={"sha256": sha256})).json()
        assert found["genuine"] is (name in MAY), name
        assert (found["job"] is not None) is (name in MAY), name
        named = await client.get("/pdf/verify", params={"sha256": sha256, "job_id": job_id})
        assert (named.status_code == 200) is (name in MAY), name


async def test_webhook_tells_an_operator_of_the_job_and_leads_to_no_bytes(cast: Cast) -> None:
    operator = cast["operator"]
    created = await operator.post("/webhooks", json={"url": "http://127.0.0.1:9/"})
    assert created.status_code == 201, created.text
    job_id = await made(cast, "jobs.store")
    log = await operator.get(f"/webhooks/{created.json()['id']}/deliveries")
    (told,) = [item for item in log.json()["items"] if item["job_id"] == job_id]
    assert told["event_type"] == "job.succeeded"
    assert not any(word in json.dumps(told["payload"]) for word in ("/storage/", "signature", "artifacts/"))

"""Printing while things break: browsers and workers killed in mid-print, no renderer, no database, hostile pages."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest
import yaml
from tests.support.auditor import Auditor, all_ended
from tests.support.other_browser import other_browser
from tests.support.printing import open_directory
from tests.support.processes import WorkerProcess, WorkerYard, descendants, holds, kill_tree, worker_yard
from tests.support.site import Site
from tests.support.waiting import eventually

from quire.entrypoints.engine import Engine
from quire.entrypoints.migrate import migrate
from quire.kernel import QuireError
from quire.render.infrastructure.chromium.fingerprint import installed_fingerprint
from quire.runtime.auth import TenantStore, TokenGrant, TokenStore
from quire.runtime.database import Database
from quire.runtime.embedded_postgres import EmbeddedPostgres

API = ("-m", "quire", "api", "--port", "0")
PRINT_SECONDS = 120.0
# Enough of a document to be killed in the middle of: about a fifth of a second of a quiet core.
PARAGRAPHS = 1_500


@pytest.fixture
def max_crashes() -> int:
    """So many kills hit some documents more often than three times."""
    return 100


@pytest.fixture(scope="module")
def private_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(tmp_path_factory.mktemp("render_postgres"))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
async def mortal_dsn(private_server: EmbeddedPostgres) -> str:
    connection = await asyncpg.connect(private_server.dsn)
    await connection.execute("CREATE DATABASE mortal")
    await connection.close()
    await migrate(private_server.dsn_of("mortal"))
    return private_server.dsn_of("mortal")


async def token_of(dsn: str) -> str:
    database = await Database.open(dsn, application="test")
    try:
        with contextlib.suppress(QuireError):
            await TenantStore(database).create("acme", "acme")
        grant = TokenGrant("acme", "ann", "test", "admin", frozenset({"raw_html"}), None)
        _, parts = await TokenStore(database).create(grant, created_by="test")
        return parts.text
    finally:
        await database.close()


@contextlib.asynccontextmanager
async def api_of(yard: WorkerYard, dsn: str, **extra: object) -> AsyncIterator[httpx.AsyncClient]:
    (said, *_) = await yard.start(API, **extra).said("api_listening", within_seconds=60)
    headers = {"Authorization": f"Bearer {await token_of(dsn)}"}
    async with httpx.AsyncClient(base_url=str(said["url"]), headers=headers, timeout=60) as http:
        yield http


def page(mark: object, html: str = "") -> dict[str, Any]:
    return {"template_name": "raw_html", "payload": {"html": f"<h1>{mark}</h1>{html}"}}


def long_page(mark: object) -> dict[str, Any]:
    return page(mark, "".join(f"<p>Paragraph {n} of {mark}</p>" for n in range(PARAGRAPHS)))


async def post(http: httpx.AsyncClient, body: dict[str, Any]) -> UUID:
    answer = await http.post("/pdf/jobs", json=body)
    assert answer.status_code == 202, answer.text
    return UUID(answer.json()["job_id"])


async def accepts(http: httpx.AsyncClient, body: dict[str, Any]) -> UUID:
    """Asked until a renderer lives."""

    async def probe() -> str | None:
        answer = await http.post("/pdf/jobs", json=body)
        return answer.json()["job_id"] if answer.status_code in (200, 202) and answer.json() else None

    return UUID(await eventually(probe, "a live renderer", within_seconds=60))


async def ended(http: httpx.AsyncClient, job_id: UUID) -> dict[str, Any]:
    async def probe() -> dict[str, Any] | None:
        job: dict[str, Any] = (await http.get(f"/pdf/jobs/{job_id}", params={"wait": 10})).json()
        return job if job.get("status") in {"succeeded", "failed", "cancelled"} else None

    job = await eventually(probe, "the end of a document", within_seconds=PRINT_SECONDS)
    assert job is not None
    return job


def browsers_of(worker: WorkerProcess) -> list[int]:
    """The browser's first processes; what is below them dies with them."""
    return [pid for pid in descendants(worker.pid) if b"--headless" in command_line(pid)]


async def has_browser(worker: WorkerProcess) -> None:
    async def probe() -> list[int]:
        return browsers_of(worker)

    await eventually(probe, "a browser", within_seconds=60)


def command_line(pid: int) -> bytes:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
    return b"" if b"--type=" in line else line


def alive(pids: set[int]) -> list[int]:
    states = {pid: Path(f"/proc/{pid}/stat") for pid in pids}
    found = []
    for pid, path in states.items():
        with contextlib.suppress(OSError):
            if path.read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(pid)
    return found


async def nothing_left(pids: set[int]) -> None:
    async def probe() -> bool:
        return not alive(pids)

    await eventually(probe, "the end of every browser process", within_seconds=30)


async def test_killed_browsers_and_workers_lose_and_double_no_document_and_leave_no_process(
    site: Site, engine: Engine, yard: WorkerYard, dsn: str
) -> None:
    seen: set[int] = set()
    worker = yard.start(WORKER_CONCURRENCY=3)
    await worker.started()
    async with api_of(yard, dsn) as http:
        accepted = [await accepts(http, long_page(0))]
        accepted += [await post(http, long_page(number)) for number in range(1, 14)]
        for kill in range(4):
            await holds(engine, await worker.started(), 1)
            await has_browser(worker)
            # A random moment of its work, not the one just after the start.
            await asyncio.sleep(random.uniform(0, 0.3))
            seen |= set(descendants(worker.pid))
            if kill % 2:
                worker.kill()
                worker = yard.start(WORKER_CONCURRENCY=3)
            else:
                for browser in browsers_of(worker):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(browser, signal.SIGKILL)
        await all_ended(engine, within_seconds=PRINT_SECONDS)
        seen |= set(descendants(worker.pid))
    worker.send(signal.SIGTERM)
    assert await worker.ended(within_seconds=60) == 0
    report = await Auditor(engine, site.storage_dir, accepted).report()
    assert report.states == {"succeeded": len(accepted)}, report.errors
    assert report.reclaims + report.retries >= 2
    await nothing_left(seen)


SHORT_SECONDS = 10.0
HOSTILE = {
    "more pages than any": '<div style="height: 4000000px"></div>',
    "a page that leaves": '<meta http-equiv="refresh" content="0; url=file:///etc/passwd">',
    "frames of files": '<iframe src="file:///etc/passwd"></iframe>' * 3,
}
# Layout without end, for the browser has no clock of its own for it.
ENDLESS = (
    "<style>body{columns:900} div{break-inside:avoid;display:grid;grid:repeat(900,1fr)/repeat(900,1fr)}</style>"
    + "<div><p>x</p></div>" * 3_000
)


@pytest.fixture
def brief_site(dsn: str, tmp_path: Path) -> Site:
    """Documents have a few seconds, and are not tried again."""
    site = Site(dsn, tmp_path / "brief", 100)
    queues = yaml.safe_load((site.config_dir / "queues.yaml").read_text())
    limits = {"hard_limit_seconds": SHORT_SECONDS + 3, "soft_limit_seconds": SHORT_SECONDS}
    queues["queues"]["render_pdf"] |= limits
    (site.config_dir / "queues.yaml").write_text(yaml.safe_dump(queues))
    retries = yaml.safe_load((site.config_dir / "retries.yaml").read_text())
    retries["kinds"]["render.pdf"][0]["codes"] = ["BROWSER_LAUNCH_FAILED"]
    (site.config_dir / "retries.yaml").write_text(yaml.safe_dump(retries))
    return site


async def test_hostile_page_ends_typed_in_its_time_and_the_next_one_is_printed(
    brief_site: Site, dsn: str
) -> None:
    with worker_yard(brief_site) as yard:
        await yard.start(WORKER_CONCURRENCY=1).started()
        async with api_of(yard, dsn) as http:
            first = await accepts(http, page("plain"))
            assert (await ended(http, first))["status"] == "succeeded"
            for name, html in HOSTILE.items():
                job = await ended(http, await post(http, page(name, html)))
                if job["status"] == "failed":
                    assert job["error"]["error_code"] in {"TEMPLATE_ERROR", "NAVIGATION_TIMEOUT"}, job
                else:
                    assert b"root:" not in (await http.get(job["download_url"])).content, name
            started_at = time.monotonic()
            endless = await ended(http, await post(http, page("endless", ENDLESS)))
            assert (endless["status"], endless["attempt"]) == ("failed", 1)
            assert endless["error"]["error_code"] == "NAVIGATION_TIMEOUT"
            assert time.monotonic() - started_at < SHORT_SECONDS + 15
            after = await ended(http, await post(http, page("after all of them")))
            assert after["status"] == "succeeded", after["error"]


@pytest.fixture
def older_browser() -> Iterator[Path]:
    with open_directory() as directory:
        yield other_browser(directory)


@pytest.fixture
def impatient_site(dsn: str, tmp_path: Path) -> Site:
    """Documents wait for a missing renderer for a few seconds only."""
    site = Site(dsn, tmp_path / "impatient")
    queues = yaml.safe_load((site.config_dir / "queues.yaml").read_text())
    queues["kinds"]["render.pdf"]["deferral_limit_seconds"] = 4
    (site.config_dir / "queues.yaml").write_text(yaml.safe_dump(queues))
    return site


async def printed_by(engine: Engine, job_id: UUID) -> UUID:
    async with engine.database.acquire() as connection:
        return UUID(
            await connection.fetchval(
                "SELECT actor FROM job_events WHERE job_id = $1 AND to_state = 'succeeded'", job_id
            )
        )


async def waits_for(http: httpx.AsyncClient, job_id: UUID, fingerprint: str) -> None:
    async def probe() -> bool:
        job = (await http.get(f"/pdf/jobs/{job_id}")).json()
        return bool(job["status"] == "queued" and job["error"] and fingerprint in job["error"]["message"])

    await eventually(probe, "a document that shows what it waits for")


async def test_in_an_upgrade_of_the_browser_old_documents_are_printed_by_old_workers_or_end_as_problems(
    impatient_site: Site, dsn: str, older_browser: Path
) -> None:
    wanted = installed_fingerprint(older_browser)
    async with impatient_site.engine() as engine:
        with worker_yard(impatient_site) as yard:
            old = yard.start(QUIRE_CHROMIUM=older_browser)
            async with api_of(yard, dsn, QUIRE_CHROMIUM=older_browser) as before, api_of(yard, dsn) as after:
                assert (await ended(before, await accepts(before, page("old"))))["status"] == "succeeded"
                # Workers of the new version first, then the API, and the old workers last.
                new = yard.start()
                await new.started()
                for http, worker in ((before, old), (after, new), (before, old)):
                    job_id = await post(http, page(f"beside {time.monotonic()}"))
                    job = await ended(http, job_id)
                    assert job["status"] == "succeeded", job
                    assert await printed_by(engine, job_id) == await worker.started()
                old.send(signal.SIGTERM)
                assert await old.ended(within_seconds=60) == 0
                late = await post(before, page("too late"))
                await waits_for(before, late, wanted)
                fresh = await ended(after, await post(after, page("new")))
                assert fresh["status"] == "succeeded", "nobody waits behind it"
                job = await ended(before, late)
                assert (job["status"], job["error"]["error_code"]) == ("failed", "UNSUPPORTED_PLATFORM")
                (problem,) = (await before.get("/problems")).json()["items"]
                assert wanted in problem["message"]
                assert "Start one that has" in problem["recommendation"]
                (line,) = new.events("attempt_failed")
                assert (line["job_id"], line["error_code"]) == (str(late), "UNSUPPORTED_PLATFORM")


ENDLESS_PACK = {
    "manifest.yaml": "title: Endless\ndescription: Never done\njavascript: true\n",
    "schema.json": '{"type": "object"}',
    "sample.json": "{}",
    "template.html": "<script>globalThis.quireReady = new Promise(() => {})</script><p>{{ mark }}</p>",
}


def endless_page(mark: str) -> dict[str, Any]:
    return {"template_name": "endless", "payload": {"mark": mark}}


@pytest.fixture
def endless_pack(tmp_path: Path) -> dict[str, str]:
    """A template that is never done, and the settings that allow it."""
    folder = tmp_path / "templates" / "endless" / "1.0"
    folder.mkdir(parents=True)
    for name, text in ENDLESS_PACK.items():
        (folder / name).write_text(text)
    return {"QUIRE_TEMPLATES_DIR": str(tmp_path / "templates"), "PDF_TEMPLATE_ALLOWLIST": "endless"}


async def timed_out_after_ms(engine: Engine, job_id: UUID, within_seconds: float) -> int:
    """How long the first attempt lasted that ran out of time."""

    async def probe() -> int | None:
        async with engine.database.acquire() as connection:
            return await connection.fetchval(
                "SELECT duration_ms FROM job_events "
                "WHERE job_id = $1 AND error_code = 'NAVIGATION_TIMEOUT' ORDER BY event_no LIMIT 1",
                job_id,
            )

    duration_ms = await eventually(probe, "an attempt that runs out of time", within_seconds=within_seconds)
    assert duration_ms is not None
    return duration_ms


async def printing_for(engine: Engine, job_id: UUID, seconds: float) -> None:
    """Waits until its attempt is so old that its page is open for certain."""

    async def probe() -> bool:
        async with engine.database.acquire() as connection:
            return bool(
                await connection.fetchval(
                    "SELECT started_at < now() - make_interval(secs => $2) FROM jobs "
                    "WHERE id = $1 AND state = 'running' AND attempt = 1",
                    job_id,
                    seconds,
                )
            )

    await eventually(probe, "an attempt of that age", within_seconds=seconds + 30)


@pytest.fixture
def shipped_site(dsn: str, tmp_path: Path) -> Site:
    """With the limits as shipped. A browser that does not start, on a busy machine, is tried more often."""
    site = Site(dsn, tmp_path / "shipped")
    retries = yaml.safe_load((site.config_dir / "retries.yaml").read_text())
    rule = retries["kinds"]["render.pdf"][0]
    retries["kinds"]["render.pdf"].insert(0, {**rule, "codes": ["BROWSER_LAUNCH_FAILED"], "attempts": 20})
    (site.config_dir / "retries.yaml").write_text(yaml.safe_dump(retries))
    return site


async def test_with_the_shipped_limits_a_page_is_told_to_close_at_55_s_and_its_browser_ends_at_60_s(
    shipped_site: Site, dsn: str, endless_pack: dict[str, str]
) -> None:
    async with shipped_site.engine() as engine:
        with worker_yard(shipped_site) as yard:
            heeding = yard.start(WORKER_CONCURRENCY=1, **endless_pack)
            async with api_of(yard, dsn, **endless_pack) as http:
                patient = await accepts(http, endless_page("closes when told"))
                await holds(engine, await heeding.started(), 1)
                frozen = yard.start(WORKER_CONCURRENCY=1, **endless_pack)
                # The first worker is busy: this one prints, and with a warm browser the next page opens at once.
                assert (await ended(http, await post(http, page("warm"))))["status"] == "succeeded"
                deaf = await post(http, endless_page("hears nothing"))
                await printing_for(engine, deaf, 10)
                (browser,) = browsers_of(frozen)
                os.killpg(browser, signal.SIGSTOP)
                await printing_for(engine, deaf, 57)
                assert alive({browser}), "the browser is killed at the hard limit, not before"
                killed_ms = await timed_out_after_ms(engine, deaf, 60)
                closed_ms = await timed_out_after_ms(engine, patient, 120)
                await nothing_left({browser})
    print(f"told to close after {closed_ms} ms, killed after {killed_ms} ms")
    assert 55_000 <= closed_ms < 60_000
    assert 60_000 <= killed_ms < 65_000


async def test_without_a_renderer_documents_are_refused_or_shown_within_a_second_and_back_by_themselves(
    yard: WorkerYard, dsn: str
) -> None:
    worker = yard.start()
    async with api_of(yard, dsn) as strict, api_of(yard, dsn, PDF_FAILSAFE="degrade") as lenient:
        printed = await accepts(strict, page("before"))
        await ended(strict, printed)
        await accepts(lenient, page("before too"))
        worker.kill()
        await asyncio.sleep(1.0)  # the promised second
        await expect_outage(strict, lenient, page("during"))
        again = await strict.post("/pdf/jobs", json=page("before"))
        assert (again.status_code, again.json()["job_id"]) == (200, str(printed)), (
            "what is done needs no renderer"
        )
        yard.start()
        job_id = await accepts(strict, page("after"))
        assert (await ended(strict, job_id))["status"] == "succeeded"
        again = await lenient.post("/pdf/jobs", json=page("after too"))
        assert (again.status_code, "X-Pdf-Fallback" in again.headers) == (202, False)


async def expect_outage(strict: httpx.AsyncClient, lenient: httpx.AsyncClient, body: dict[str, Any]) -> None:
    asked_at = time.monotonic()
    refused = await strict.post("/pdf/jobs", json=body)
    assert time.monotonic() - asked_at < 1
    assert (refused.status_code, refused.json()["error_code"]) == (503, "PDF_RENDER_UNAVAILABLE")
    assert refused.json()["retryable"]
    shown = await lenient.post("/pdf/jobs", json=body)
    assert (shown.status_code, shown.headers.get("X-Pdf-Fallback")) == (200, "html"), shown.text
    assert "during" in shown.text
    assert shown.headers["Content-Type"].startswith("text/html")


async def test_without_its_database_the_api_says_so_within_a_second_and_documents_come_back_with_it(
    private_server: EmbeddedPostgres, mortal_dsn: str, tmp_path: Path
) -> None:
    site = Site(mortal_dsn, tmp_path / "mortal", 100)
    yard = WorkerYard(site)
    try:
        yard.start()
        async with (
            api_of(yard, mortal_dsn) as strict,
            api_of(yard, mortal_dsn, PDF_FAILSAFE="degrade") as lenient,
        ):
            await accepts(strict, page("before"))
            await accepts(lenient, page("before too"))
            kill_tree(private_server.pid)
            await expect_outage(strict, lenient, page("during"))

            async def forgotten() -> bool:
                """Who calls is not known for ever: then nobody gets a page, and the code stays the same."""
                answer = await lenient.post("/pdf/jobs", json=page("during"))
                return answer.status_code == 503 and answer.json()["error_code"] == "PDF_RENDER_UNAVAILABLE"

            await eventually(forgotten, "a refusal of callers that cannot be looked up", within_seconds=20)
            private_server.process.wait()
            private_server.start()
            job_id = await accepts(strict, page("after"))
            assert (await ended(strict, job_id))["status"] == "succeeded"
    finally:
        yard.end_all()

"""A whole Quire that prints: a database of its own, the API and a worker as processes, and callers of every role."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from tests.support.processes import descendants

from quire.runtime.auth import Role, TenantStore, TokenGrant, TokenStore
from quire.runtime.database import Database
from quire.runtime.embedded_postgres import EmbeddedPostgres

START_SECONDS = 90.0
PRINT_SECONDS = 90.0
TEMPLATES = Path(__file__).parents[2] / "templates"
_numbers = itertools.count(1)

Document = dict[str, Any]


class Press:
    def __init__(self, dsn: str, directory: Path) -> None:
        self.dsn = dsn
        self.directory = directory
        self.url = ""
        self.worker_url = ""
        self.pids: dict[str, int] = {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._clients: list[httpx.Client] = []

    def start(self) -> Press:
        """Both at once; a browser starts with the first document."""
        api = self.start_process("api", "--port", "0")
        worker = self.start_process("worker", QUIRE_METRICS_PORT="0", QUIRE_SWEEP_SEC="0.5")
        self.pids = {"api": self._processes[0].pid, "worker": self._processes[1].pid}
        self.url = self.said(api, "api_listening")["url"]
        self.worker_url = f"http://127.0.0.1:{self.said(worker, 'metrics_listening')['port']}"
        return self

    def start_process(self, *arguments: str, **environment: str) -> Path:
        """Its log, by which it is known."""
        log = self.directory / f"process-{len(self._processes)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "quire", *arguments],
                env={**os.environ, **self._names(), **environment},
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stderr=output,
            )
        self._processes.append(process)
        return log

    def browsers_of(self, program: str) -> int:
        """Browser processes among the descendants of the API or the worker."""
        lines = (Path(f"/proc/{child}/cmdline") for child in descendants(self.pids[program]))
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            return sum(b"chrom" in line.read_bytes() for line in lines)
        return self.browsers_of(program)

    def _names(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.dsn,
            "QUIRE_STORAGE_URL": f"file:{self.directory / 'storage'}",
            "QUIRE_SECRET_KEY": "a secret that only tests know",
            "QUIRE_ALLOW_PRIVATE_WEBHOOKS": "true",
            "PDF_MAX_PAYLOAD_BYTES": "200000",
        }

    def said(self, log: Path, event: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
            return next((line for line in lines if line.get("event") == event), None)

        return until(look, START_SECONDS)

    def caller(
        self, user: str, role: Role = "user", tenant: str = "default", scopes: frozenset[str] = frozenset()
    ) -> httpx.Client:
        token = asyncio.run(self._token(TokenGrant(tenant, user, "test", role, scopes, None)))
        client = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=60,
            trust_env=False,
            limits=httpx.Limits(max_connections=60),
        )
        self._clients.append(client)
        return client

    async def _token(self, grant: TokenGrant) -> str:
        database = await Database.open(self.dsn, application="test")
        try:
            with contextlib.suppress(Exception):
                await TenantStore(database).create(grant.tenant_id, grant.tenant_id)
            _, parts = await TokenStore(database).create(grant, created_by="test")
            return parts.text
        finally:
            await database.close()

    def sql(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        async def run() -> list[asyncpg.Record]:
            connection = await asyncpg.connect(self.dsn)
            try:
                return await connection.fetch(statement, *arguments)
            finally:
                await connection.close()

        return asyncio.run(run())

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def press(
    postgres_server: EmbeddedPostgres, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Press]:
    name = f"press_{next(_numbers)}"
    asyncio.run(_execute(postgres_server.dsn, f"CREATE DATABASE {name} TEMPLATE {migrated_template}"))
    press = Press(postgres_server.dsn_of(name), tmp_path_factory.mktemp("press"))
    try:
        yield press.start()
    finally:
        press.stop()
        asyncio.run(_execute(postgres_server.dsn, f"DROP DATABASE {name} WITH (FORCE)"))


async def _execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def until(look: Callable[[], Any], seconds: float = 30.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)
    return found


def sample(name: str = "invoice") -> Document:
    return copy.deepcopy(_sample(name))


def _sample(name: str) -> Document:
    return dict(json.loads((TEMPLATES / name / "1.0" / "sample.json").read_text(encoding="utf-8")))


def document(mark: str, name: str = "invoice", **fields: Any) -> Document:
    """A document of its own: `mark` is in its metadata and makes it different from every other."""
    options = {"subject": mark, **fields.pop("options", {})}
    return {"template_name": name, "payload": sample(name), "options": options, **fields}


def rejected_document(mark: str) -> Document:
    """Fits the schema, but its figures do not add up: only the template finds out."""
    wrong = document(mark)
    wrong["payload"]["totals"]["gross_minor"] += 1
    return wrong


def submit(client: httpx.Client, body: Mapping[str, Any]) -> str:
    answer = client.post("/pdf/jobs", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["job_id"])


def ended(client: httpx.Client, job_id: str) -> Document:
    deadline = time.monotonic() + PRINT_SECONDS
    while True:
        answer = client.get(f"/pdf/jobs/{job_id}", params={"wait": 20})
        assert answer.status_code == 200, answer.text
        job: Document = answer.json()
        if job["status"] in {"succeeded", "failed", "cancelled", "expired"}:
            return job
        assert time.monotonic() < deadline, job


def rendered(client: httpx.Client, body: Mapping[str, Any]) -> Document:
    job = ended(client, submit(client, body))
    assert job["status"] == "succeeded", job["error"]
    return job


def refused(answer: httpx.Response, status: int, code: str) -> Document:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body: Document = answer.json()
    assert body["error_code"] == code, body
    return body

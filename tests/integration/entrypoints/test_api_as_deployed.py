"""The API under its unit's restriction fills templates all the same: the preview, and documents while nobody prints."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from tests.support.api_process import running_quire
from tests.support.press import document, sample

from quire.kernel import ConflictError
from quire.runtime.auth import TenantStore, TokenGrant, TokenStore
from quire.runtime.database import Database

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def api_without_namespaces(
    dsn: str, database: Database, directory: Path, **names: str
) -> AsyncIterator[httpx.AsyncClient]:
    with contextlib.suppress(ConflictError):
        await TenantStore(database).create("default", "default")
    grant = TokenGrant("default", "ann", "test", "admin", frozenset(), None)
    _, token = await TokenStore(database).create(grant, created_by="test")
    program = "tests.support.without_namespaces"
    names = {"PYTHONPATH": str(ROOT), **names}
    async with running_quire(
        "api", "--port", "0", program=program, dsn=dsn, directory=directory, **names
    ) as quire:
        url = (await quire.line_with("api_listening"))["url"]
        headers = {"Authorization": f"Bearer {token.text}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
            yield client


async def shows_a_preview(client: httpx.AsyncClient) -> bool:
    shown = await client.post("/pdf/preview", json={"template_name": "invoice", "payload": sample()})
    assert shown.status_code == 200, shown.text
    return "<html" in shown.text


@pytest.mark.parametrize("setting", [{"PDF_FAILSAFE": "strict"}, {}], ids=["configured", "default"])
async def test_strict_refuses_a_document_while_nobody_prints(
    dsn: str, database: Database, tmp_path: Path, setting: dict[str, str]
) -> None:
    async with api_without_namespaces(dsn, database, tmp_path, **setting) as client:
        refused = await client.post("/pdf/jobs", json=document("strict"))
        assert (refused.status_code, refused.json()["error_code"]) == (503, "PDF_RENDER_UNAVAILABLE")
        assert "X-Pdf-Fallback" not in refused.headers
        assert await shows_a_preview(client)
    assert await jobs_in(database) == 0


async def test_degrade_shows_the_document_as_html_while_nobody_prints(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    async with api_without_namespaces(dsn, database, tmp_path, PDF_FAILSAFE="degrade") as client:
        shown = await client.post("/pdf/jobs", json=document("degrade"))
        assert (shown.status_code, shown.headers.get("X-Pdf-Fallback")) == (200, "html"), shown.text
        assert shown.headers["Content-Type"].startswith("text/html")
        assert "<html" in shown.text
        assert await shows_a_preview(client)
    assert await jobs_in(database) == 0


async def jobs_in(database: Database) -> int:
    async with database.acquire() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM jobs"))

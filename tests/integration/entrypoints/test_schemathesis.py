"""Schemathesis over the whole contract, against the served API: no input makes it break its word."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.support.api_process import running_quire
from tests.support.api_server import client_of

from quire.runtime.auth import ensure_admin_token
from quire.runtime.database import Database

EXAMPLES = 15
BUDGET_SECONDS = 300

# `schemathesis_checks.py` asks this one more exactly.
EXCLUDED_CHECKS = "positive_data_acceptance"
ROOT = Path(__file__).parents[3]


async def test_contract_holds_against_generated_requests(
    dsn: str, database: Database, tmp_path: Path
) -> None:
    token = await ensure_admin_token(database, tmp_path / "admin.token")
    async with running_quire(
        "api", "--port", "0", dsn=dsn, directory=tmp_path, QUIRE_RATE_LIMIT_PER_MINUTE="0"
    ) as quire:
        url = (await quire.line_with("api_listening"))["url"]
        code, said = await schemathesis(url, token, tmp_path)
        async with client_of(url, token) as client:
            # Had a generated request revoked the token, everything after it would have been an empty 401.
            assert (await client.get("/me")).status_code == 200
    assert code == 0, said
    assert "request_failed" not in quire.log.read_text()


async def schemathesis(url: str, token: str, directory: Path) -> tuple[int | None, str]:
    arguments = [
        *("run", f"{url}/openapi.json"),
        *("--header", f"Authorization: Bearer {token}"),
        *("--max-examples", str(EXAMPLES)),
        *("--phases", "examples,coverage,fuzzing"),
        *("--exclude-checks", EXCLUDED_CHECKS),
        *("--seed", "7"),
        *("--generation-database", "none"),
        "--no-color",
    ]
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("schemathesis"),
        *arguments,
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.support.schemathesis_checks",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), BUDGET_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, said.decode()

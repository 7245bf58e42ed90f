"""Commands and processes on a database whose schema is missing, behind or ahead: one line and exit code 3, or work."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.quire_command import QuireCommand, Said

from quire.entrypoints.engine import open_engine
from quire.entrypoints.migrate import head_revision, migrate
from quire.runtime.database import Database
from quire.runtime.settings import load_settings

COMMANDS = [
    ("api", "--port", "0"),
    ("worker", "--queues", "default"),
    ("token", "create", "ops"),
    ("tenant", "list"),
    ("reseal",),
]
BEFORE_HEAD = f"{int(head_revision()) - 1:04}"


async def run_on(dsn: str, directory: Path, *arguments: str) -> Said:
    quire = QuireCommand("", "", directory)
    names = {"QUIRE_DATA_DIR": str(directory), "QUIRE_STORAGE_URL": f"file:{directory / 'storage'}"}
    return await quire(*arguments, DATABASE_URL=dsn, QUIRE_SECRET_KEY="k" * 32, **names)


def refusal_of(said: Said) -> str:
    """The one line that is no log line."""
    (line,) = [line for line in said.err.splitlines() if not line.startswith("{")]
    return line


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
async def test_without_a_schema_every_command_says_so_in_one_line(
    arguments: tuple[str, ...], empty_dsn: str, tmp_path: Path
) -> None:
    said = await run_on(empty_dsn, tmp_path, *arguments)
    wanted = f"the database has no schema, this release needs {head_revision()}; run quire migrate"
    assert (said.code, refusal_of(said)) == (3, f"error: SCHEMA_BEHIND: {wanted}")


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
async def test_one_migration_behind_every_command_says_so_in_one_line(
    arguments: tuple[str, ...], empty_dsn: str, tmp_path: Path
) -> None:
    await migrate(empty_dsn, BEFORE_HEAD)
    said = await run_on(empty_dsn, tmp_path, *arguments)
    wanted = f"the database is at {BEFORE_HEAD}, this release needs {head_revision()}; run quire migrate"
    assert (said.code, refusal_of(said)) == (3, f"error: SCHEMA_BEHIND: {wanted}")


async def test_schema_of_a_newer_release_is_worked_on(dsn: str, database: Database, tmp_path: Path) -> None:
    async with database.acquire() as connection:
        await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert (await run_on(dsn, tmp_path, "token", "create", "ops")).code == 0
    settings = load_settings(DATABASE_URL=dsn, QUIRE_STORAGE_URL=f"file:{tmp_path / 'storage'}")
    async with open_engine(settings, application="test") as engine:
        assert await engine.registry.live() == []

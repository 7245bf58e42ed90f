"""Migrations: from empty to head, twice, together, and all or nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from quire.entrypoints import migrate as module
from quire.entrypoints.migrate import head_revision, migrate
from quire.entrypoints.shipped import shipped_dir
from quire.runtime.database import Database, DatabaseRefusedError, DatabaseUnavailableError
from quire.runtime.settings import load_settings

HALF = """
from quire.runtime.migration_script import run_script
revision = "0001"
down_revision = None
def upgrade():
    run_script("CREATE TABLE first (id int); CREATE TABLE second (id int); SELECT 1 / 0")
"""


async def tables(dsn: str) -> set[str]:
    connection = await asyncpg.connect(dsn)
    try:
        return {row["tablename"] for row in await connection.fetch("SELECT tablename FROM pg_tables")}
    finally:
        await connection.close()


async def test_an_empty_database_reaches_the_newest_version_and_stays_there(empty_dsn: str) -> None:
    assert await migrate(empty_dsn) == head_revision()
    assert await migrate(empty_dsn) == head_revision()


async def test_options_of_the_driver_in_the_address_are_understood(empty_dsn: str) -> None:
    """As a server behind TLS needs them; this one has none."""
    url = f"{empty_dsn}?sslmode=prefer&application_name=upgrade"
    assert await migrate(url) == head_revision()


async def test_a_schema_in_the_address_is_where_the_tables_are(empty_dsn: str) -> None:
    connection = await asyncpg.connect(empty_dsn)
    await connection.execute("CREATE SCHEMA house")
    await connection.close()
    for schema in ("public", "house"):
        settings = load_settings(DATABASE_URL=f"{empty_dsn}?schema={schema}")
        assert await migrate(settings.dsn) == head_revision()
        database = await Database.open(settings.listen_dsn)
        try:
            async with database.acquire() as held:
                assert await held.fetchval(
                    "SELECT 'jobs'::regclass::oid = $1::regclass::oid", f"{schema}.jobs"
                )
        finally:
            await database.close()


async def test_a_setting_in_the_address_that_the_server_does_not_know_is_named(empty_dsn: str) -> None:
    for opened in (migrate, Database.open):
        with pytest.raises(DatabaseRefusedError, match="connection_limit"):
            await opened(f"{empty_dsn}?connection_limit=5")


async def test_starters_that_migrate_together_do_not_collide(empty_dsn: str) -> None:
    reached = await asyncio.gather(*(migrate(empty_dsn) for _ in range(4)))
    assert set(reached) == {head_revision()}


async def test_a_script_that_fails_half_way_leaves_nothing(
    empty_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions" / "0001_half.py").write_text(HALF)
    (tmp_path / "env.py").write_text((shipped_dir("migrations") / "env.py").read_text())
    monkeypatch.setattr(module, "shipped_dir", lambda name: tmp_path)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate(empty_dsn)
    assert not {"first", "second"} & await tables(empty_dsn)


async def test_an_unreachable_database_is_a_typed_error() -> None:
    with pytest.raises(DatabaseUnavailableError):
        await migrate("postgresql://quire:x@127.0.0.1:1/quire")


def test_versions_are_one_numbered_line() -> None:
    config = Config()
    config.set_main_option("script_location", str(shipped_dir("migrations")))
    script = ScriptDirectory.from_config(config)
    numbers = [revision.revision for revision in script.walk_revisions()]
    assert numbers == sorted(numbers, reverse=True)
    assert script.get_heads() == [head_revision()]

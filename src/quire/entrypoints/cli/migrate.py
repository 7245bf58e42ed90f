"""`quire migrate`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from quire.entrypoints.migrate import migrate as run_migrations
from quire.runtime.settings import SettingsError, load_settings


def migrate(
    revision: Annotated[str, typer.Argument(help="Schema version to go up to.")] = "head",
) -> None:
    """Bring the database of DATABASE_URL to a schema version. Safe to run twice, and from two machines."""
    dsn = load_settings().listen_dsn
    if not dsn:
        raise SettingsError("DATABASE_URL is not set; `quire up` migrates its embedded database itself")
    print(f"database is at {asyncio.run(run_migrations(dsn, revision))}")

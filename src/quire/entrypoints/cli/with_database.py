"""Runs one piece of a command on a database opened for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from quire.entrypoints.dsn import find_dsn
from quire.entrypoints.migrate import head_revision
from quire.runtime.database import Database
from quire.runtime.settings import load_settings
from quire.runtime.telemetry import require_schema

Result = TypeVar("Result")


def with_database(work: Callable[[Database], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        database = await Database.open(find_dsn(load_settings()), pool_max=2, application="quire-cli")
        try:
            await require_schema(database, head_revision())
            return await work(database)
        finally:
            await database.close()

    return asyncio.run(run())

"""Writes `last_used_at` off the request path: requests note, a loop writes the notes in one statement."""

from __future__ import annotations

import asyncio
import uuid

import asyncpg
import structlog

from quire.runtime.auth.token_store import TokenStore
from quire.runtime.database import DatabaseUnavailableError

FLUSH_SECONDS = 10.0

log = structlog.get_logger(__name__)


class UsageRecorder:
    def __init__(self, tokens: TokenStore) -> None:
        self._tokens = tokens
        self._noted: set[str] = set()

    def note(self, token_id: str) -> None:
        self._noted.add(token_id)

    async def flush(self) -> None:
        """Loses the notes when the database is down: the next requests note the same tokens again."""
        noted, self._noted = self._noted, set()
        if not noted:
            return
        try:
            await self._tokens.record_use([uuid.UUID(token_id) for token_id in noted])
        except (DatabaseUnavailableError, asyncpg.PostgresError) as error:
            log.warning("token_use_not_recorded", error=str(error))

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                async with asyncio.timeout(FLUSH_SECONDS):
                    await stop.wait()
            except TimeoutError:
                await self.flush()
        await self.flush()

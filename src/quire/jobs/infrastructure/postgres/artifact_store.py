"""Artifacts: a record in Postgres under the fence, bytes in the storage backend."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import UUID

import asyncpg
import structlog

from quire.jobs.domain.errors import LeaseLostError
from quire.jobs.domain.job import Artifact
from quire.jobs.domain.lease import Lease
from quire.jobs.infrastructure.postgres.sql import load
from quire.kernel import QuireError
from quire.runtime.database import Database
from quire.runtime.storage import StorageBackend, StorageCorruptError, StorageNotFoundError, StoredObject

SQL = load("artifacts.sql")

log = structlog.get_logger(__name__)


class StoredArtifacts:
    def __init__(self, database: Database, storage: StorageBackend) -> None:
        self._database = database
        self._storage = storage

    async def write(
        self, worker_id: UUID, lease: Lease, data: bytes, *, filename: str, content_type: str, folder: str
    ) -> Artifact:
        key = await self._begin(worker_id, lease, folder, content_type, filename)
        stored = await self._put_or_clean_up(key, data, content_type)
        digest = hashlib.sha256(data).hexdigest()
        return Artifact(key, lease.job_id, content_type, filename, stored.size_bytes, digest)

    async def write_stream(
        self,
        worker_id: UUID,
        lease: Lease,
        chunks: AsyncIterator[bytes],
        *,
        filename: str,
        content_type: str,
        folder: str,
        approve: Callable[[], Awaitable[None]] | None = None,
    ) -> Artifact:
        key = await self._begin(worker_id, lease, folder, content_type, filename)
        try:
            # A cancel reaches the storage, which drops what it has: unlike one block, a stream may last.
            stored = await self._storage.put_stream(key, chunks, content_type=content_type, approve=approve)
        except BaseException:
            with contextlib.suppress(QuireError):
                await self.discard_unpublished(key)
            raise
        assert stored.sha256 is not None  # known wherever the bytes passed through
        return Artifact(key, lease.job_id, content_type, filename, stored.size_bytes, stored.sha256)

    async def _begin(
        self, worker_id: UUID, lease: Lease, folder: str, content_type: str, filename: str
    ) -> str:
        """A key that no other attempt has: a zombie's bytes stay apart from those of the attempt that counts."""
        suffix = filename.rsplit(".", 1)[-1] if "." in filename else "bin"
        about = (worker_id, lease.job_id, lease.fence, folder, content_type, filename, suffix)
        while True:
            try:
                async with self._database.acquire() as connection:
                    key: str | None = await connection.fetchval(SQL["begin_artifact"], *about)
            except asyncpg.UniqueViolationError:
                # The clock was set back to the very microsecond of an earlier attempt: it goes on.
                continue
            if key is None:
                raise LeaseLostError(f"job {lease.job_id}: another worker owns it now")
            return key

    async def _put_or_clean_up(self, key: str, data: bytes, content_type: str) -> StoredObject:
        put = asyncio.ensure_future(self._storage.put_bytes(key, data, content_type=content_type))
        try:
            return await asyncio.shield(put)
        except BaseException:
            # A cancelled write goes on in its thread. Without waiting for it, its bytes could appear after the
            # record of them is gone, and nobody would ever find them.
            await asyncio.gather(put, return_exceptions=True)
            with contextlib.suppress(QuireError):
                await self.discard_unpublished(key)
            raise

    async def exists(self, artifact_key: str, size_bytes: int | None = None) -> bool:
        """What is there and not whole answers for nothing either."""
        try:
            stored = await self._storage.stat(artifact_key)
        except StorageNotFoundError:
            return False
        except StorageCorruptError:
            log.warning("artifact_damaged", artifact_key=artifact_key)
            return False
        if size_bytes is not None and stored.size_bytes != size_bytes:
            log.warning("artifact_damaged", artifact_key=artifact_key)
            return False
        return True

    async def discard_unpublished(self, artifact_key: str) -> None:
        """Bytes first: a record without bytes is found again by the sweep, bytes without a record never."""
        async with self._database.acquire() as connection:
            if await connection.fetchval(SQL["is_published"], artifact_key):
                return
            await self._storage.delete(artifact_key)
            await connection.execute(SQL["forget_artifacts"], [artifact_key])

    async def delete_bytes(self, artifact_key: str) -> None:
        await self._storage.delete(artifact_key)

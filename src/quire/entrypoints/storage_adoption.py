"""Whether a storage is this installation's. One without a marker is taken over only when that can do no harm: while no
artifact is recorded, or when it holds some of those that are, as a storage of an earlier release does. Anything else
may be an unmounted disk, in which every finished job would look as if its bytes were gone."""

from __future__ import annotations

from quire.runtime.database import Database
from quire.runtime.storage import StorageBackend, StorageUnmarkedError

SAMPLE = 100

# recorded_artifacts: the newest bytes that the storage should hold; no locks.
RECORDED_ARTIFACTS = (
    """SELECT artifact_key FROM artifacts WHERE state = 'ready' ORDER BY created_at DESC LIMIT $1"""
)


async def adopt_storage(database: Database, storage: StorageBackend) -> None:
    """Ready for use, or StorageUnmarkedError."""
    try:
        await storage.ensure_ready()
    except StorageUnmarkedError:
        async with database.acquire() as connection:
            recorded = [row["artifact_key"] for row in await connection.fetch(RECORDED_ARTIFACTS, SAMPLE)]
        if recorded and not await storage.holds_any(recorded):
            raise
        await storage.ensure_ready(create=True)

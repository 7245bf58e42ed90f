"""Inputs as objects of the storage backend: `convert/inputs/{job_id}.pdf`. No directory need be shared."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from quire.convert.domain.kept_file import KeptFile
from quire.runtime.storage import ListedObject, StorageBackend

FOLDER = "convert/inputs/"
SUFFIX = ".pdf"


class StoredInputStore:
    def __init__(self, storage: StorageBackend) -> None:
        self._storage = storage

    async def ensure_ready(self) -> None:
        """The engine adopts the storage or refuses it; a worker may open this before it does."""

    async def put(self, job_id: UUID, chunks: AsyncIterator[bytes]) -> None:
        await self._storage.put_stream(_key(job_id), chunks, content_type="application/pdf")

    async def size_bytes(self, job_id: UUID) -> int:
        return (await self._storage.stat(_key(job_id))).size_bytes

    def read(self, job_id: UUID) -> AsyncIterator[bytes]:
        return self._storage.get_stream(_key(job_id))

    async def delete(self, job_id: UUID) -> None:
        await self._storage.delete(_key(job_id))

    async def page(self, after: UUID | None, limit: int) -> Sequence[KeptFile]:
        """Whole pages of our own files: a short one means the end to whoever asks."""
        found: list[KeptFile] = []
        place = _key(after) if after else ""
        while len(found) < limit:
            listed = await self._storage.list(FOLDER, limit=limit, after=place)
            found += [kept for item in listed if (kept := _kept(item)) is not None]
            if len(listed) < limit:
                break
            place = listed[-1].key
        return found[:limit]


def _key(job_id: UUID) -> str:
    return f"{FOLDER}{job_id}{SUFFIX}"


def _kept(item: ListedObject) -> KeptFile | None:
    """None for what somebody else put there: one strange name must not end every sweep."""
    try:
        job_id = UUID(item.key.removeprefix(FOLDER).removesuffix(SUFFIX))
    except ValueError:
        return None
    return KeptFile(job_id, item.modified_at) if item.key == _key(job_id) else None

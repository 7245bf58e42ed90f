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
        listed = await self._storage.list(FOLDER, limit=limit, after=_key(after) if after else "")
        return [_kept(item) for item in listed]


def _key(job_id: UUID) -> str:
    return f"{FOLDER}{job_id}{SUFFIX}"


def _kept(item: ListedObject) -> KeptFile:
    return KeptFile(UUID(item.key.removeprefix(FOLDER).removesuffix(SUFFIX)), item.modified_at)

"""Where inputs lie now, and where they lay before a setting was changed: what was accepted there is still found, read
and swept. Itself an `InputStore`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from quire.convert.domain.kept_file import KeptFile
from quire.convert.ports.v1.input_store import InputStore
from quire.runtime.storage import StorageNotFoundError


class InputPlaces:
    def __init__(self, now: InputStore, before: InputStore) -> None:
        self._now = now
        self._before = before

    async def ensure_ready(self) -> None:
        await self._before.ensure_ready()
        await self._now.ensure_ready()

    async def put(self, job_id: UUID, chunks: AsyncIterator[bytes]) -> None:
        await self._now.put(job_id, chunks)

    async def size_bytes(self, job_id: UUID) -> int:
        try:
            return await self._now.size_bytes(job_id)
        except StorageNotFoundError:
            return await self._before.size_bytes(job_id)

    async def read(self, job_id: UUID) -> AsyncIterator[bytes]:
        place = await self._place(job_id)
        async for chunk in place.read(job_id):
            yield chunk

    async def _place(self, job_id: UUID) -> InputStore:
        try:
            await self._now.size_bytes(job_id)
        except StorageNotFoundError:
            return self._before
        return self._now

    async def delete(self, job_id: UUID) -> None:
        await self._now.delete(job_id)
        await self._before.delete(job_id)

    async def page(self, after: UUID | None, limit: int) -> Sequence[KeptFile]:
        files = {file.job_id: file for file in await self._before.page(after, limit)}
        files |= {file.job_id: file for file in await self._now.page(after, limit)}
        return sorted(files.values(), key=lambda file: file.job_id)[:limit]

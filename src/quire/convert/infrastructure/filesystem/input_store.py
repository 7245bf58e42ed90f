"""Inputs as plain files: `UPLOADS_DIR/{job_id}.pdf`. The API and the workers share the directory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from uuid import UUID

from quire.convert.domain.kept_file import KeptFile
from quire.convert.infrastructure.filesystem.file_draft import FileDraft
from quire.convert.infrastructure.filesystem.job_directory import JobDirectory
from quire.runtime.storage import CHUNK_BYTES
from quire.runtime.storage.disk_errors import disk_errors
from quire.runtime.storage.streams import in_blocks


class DirectoryInputStore:
    def __init__(self, root: Path) -> None:
        self._directory = JobDirectory(root, ".pdf", "UPLOADS_DIR")

    async def ensure_ready(self) -> None:
        await asyncio.to_thread(self._directory.make)

    async def put(self, job_id: UUID, chunks: AsyncIterator[bytes]) -> None:
        draft = FileDraft(self._directory, job_id, "in")
        size_bytes = 0
        try:
            async for block in in_blocks(chunks, CHUNK_BYTES):
                await draft.write(block)
                size_bytes += len(block)
            await draft.publish(size_bytes)
        finally:
            await draft.close()

    async def size_bytes(self, job_id: UUID) -> int:
        return await asyncio.to_thread(self._directory.size_bytes, job_id)

    async def read(self, job_id: UUID) -> AsyncIterator[bytes]:
        descriptor = await asyncio.to_thread(self._directory.open, job_id)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            while chunk := await asyncio.to_thread(_read, file.fileno()):
                yield chunk

    async def delete(self, job_id: UUID) -> None:
        await asyncio.to_thread(self._directory.delete, job_id)

    async def page(self, after: UUID | None, limit: int) -> Sequence[KeptFile]:
        return await asyncio.to_thread(self._directory.page, after, limit)


def _read(descriptor: int) -> bytes:
    with disk_errors():
        return os.read(descriptor, CHUNK_BYTES)

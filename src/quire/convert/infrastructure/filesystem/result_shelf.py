"""Results as plain files: `RESULTS_DIR/{job_id}.xml`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

from quire.convert.domain.kept_file import KeptFile
from quire.convert.infrastructure.filesystem.file_draft import FileDraft
from quire.convert.infrastructure.filesystem.job_directory import JobDirectory


class DirectoryResultShelf:
    def __init__(self, root: Path) -> None:
        self._directory = JobDirectory(root, ".xml", "RESULTS_DIR")

    async def ensure_ready(self) -> None:
        await asyncio.to_thread(self._directory.make)

    def draft(self, job_id: UUID, fence: int) -> FileDraft:
        return FileDraft(self._directory, job_id, str(fence))

    async def delete(self, job_id: UUID) -> None:
        await asyncio.to_thread(self._directory.delete, job_id)

    async def page(self, after: UUID | None, limit: int) -> Sequence[KeptFile]:
        return await asyncio.to_thread(self._directory.page, after, limit)

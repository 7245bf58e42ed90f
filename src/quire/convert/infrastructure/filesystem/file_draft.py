"""One file on its way into a job directory: a part beside its place, then a rename."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from uuid import UUID

from quire.convert.infrastructure.filesystem.job_directory import JobDirectory
from quire.runtime.storage import StorageUnavailableError
from quire.runtime.storage.disk_errors import disk_errors


class FileDraft:
    """A cancelled task leaves its thread running; the lock keeps that one and `close` apart."""

    def __init__(self, directory: JobDirectory, job_id: UUID, mark: str) -> None:
        self._directory = directory
        self._job_id = job_id
        self._part = directory.part_of(job_id, mark)
        self._descriptor: int | None = None
        self._closed = False
        self._lock = threading.Lock()

    async def write(self, chunk: bytes) -> None:
        await asyncio.to_thread(self._write, chunk)

    async def publish(self, size_bytes: int) -> str:
        return await asyncio.to_thread(self._publish, size_bytes)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _write(self, chunk: bytes) -> None:
        with self._lock, disk_errors():
            view = memoryview(chunk)
            while view:
                view = view[os.write(self._opened(), view) :]

    def _publish(self, size_bytes: int) -> str:
        with self._lock:
            target = self._directory.publish(self._opened(), self._part, self._job_id, size_bytes)
        return str(target)

    def _opened(self) -> int:
        if self._closed:
            raise StorageUnavailableError("the write was given up")
        if self._descriptor is None:
            self._descriptor = self._directory.create(self._part)
        return self._descriptor

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            if self._descriptor is not None:
                with contextlib.suppress(OSError):
                    self._part.unlink(missing_ok=True)
                os.close(self._descriptor)
                self._descriptor = None

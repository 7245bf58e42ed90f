"""What a handler is given for its attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from uuid import UUID

from quire.jobs.application.execution.running_job import RunningJob
from quire.jobs.domain.errors import JobError, LeaseLostError
from quire.jobs.domain.job import Artifact
from quire.jobs.domain.lease import Lease
from quire.jobs.ports.v1.artifact_store import ArtifactStore
from quire.jobs.ports.v1.child_runner import ChildRunner
from quire.jobs.ports.v1.handler import ChildExit
from quire.jobs.ports.v1.lease_store import LeaseStore


class AttemptContext:
    __slots__ = ("_artifacts", "_children", "_running", "_store", "_worker_id", "lease")

    def __init__(
        self,
        running: RunningJob,
        worker_id: UUID,
        store: LeaseStore,
        artifacts: ArtifactStore,
        children: ChildRunner,
    ) -> None:
        self._running = running
        self._worker_id = worker_id
        self._store = store
        self._artifacts = artifacts
        self._children = children
        self.lease: Lease = running.lease

    @property
    def stop_requested(self) -> asyncio.Event:
        return self._running.stop_requested

    async def progress(self, percent: int) -> None:
        if not await self._store.note_progress(self._worker_id, self.lease, max(0, min(100, percent))):
            raise LeaseLostError(f"job {self.lease.job_id}: another worker owns it now")

    async def put_artifact(
        self,
        data: bytes,
        *,
        filename: str,
        content_type: str = "application/octet-stream",
        folder: str = "artifacts",
    ) -> Artifact:
        self._refuse_second_artifact()
        artifact = await self._artifacts.write(
            self._worker_id, self.lease, data, filename=filename, content_type=content_type, folder=folder
        )
        self._running.artifact = artifact
        return artifact

    async def put_artifact_stream(
        self,
        chunks: AsyncIterator[bytes],
        *,
        filename: str,
        content_type: str = "application/octet-stream",
        folder: str = "artifacts",
        approve: Callable[[], Awaitable[None]] | None = None,
    ) -> Artifact:
        self._refuse_second_artifact()
        artifact = await self._artifacts.write_stream(
            self._worker_id,
            self.lease,
            chunks,
            filename=filename,
            content_type=content_type,
            folder=folder,
            approve=approve,
        )
        self._running.artifact = artifact
        return artifact

    def _refuse_second_artifact(self) -> None:
        if self._running.artifact is not None:
            raise JobError("an attempt makes one artifact", code="ARTIFACT_TWICE")

    async def run_child(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> ChildExit:
        return await self._children.run(argv, stdin=stdin, env=env)

"""Bytes that jobs produce: announced under the fence, written, then published by the job's completion."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol
from uuid import UUID

from quire.jobs.domain.job import Artifact
from quire.jobs.domain.lease import Lease


class ArtifactStore(Protocol):
    async def write(
        self, worker_id: UUID, lease: Lease, data: bytes, *, filename: str, content_type: str, folder: str
    ) -> Artifact:
        """SHALL raise LeaseLostError, writing nothing, under a stale fence. Bytes SHALL be whole or absent.
        Nobody sees them before the job succeeds."""
        ...

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
        """As `write`, in bounded memory. An error of `chunks`, or of `approve` after the last of them, SHALL leave
        nothing behind and come out as it is."""
        ...

    async def exists(self, artifact_key: str, size_bytes: int | None = None) -> bool: ...

    async def discard_unpublished(self, artifact_key: str) -> None:
        """SHALL leave the artifact alone when its job succeeded after all: an acknowledgement may be lost
        between a commit and its writer."""
        ...

    async def delete_bytes(self, artifact_key: str) -> None: ...

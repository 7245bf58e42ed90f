"""Where the PDF of each job lies, from its acceptance until it is needed no more. Named by the job's id alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol
from uuid import UUID

from quire.convert.domain.kept_file import KeptFile


class InputStore(Protocol):
    """Every method SHALL raise only errors of storage, and SHALL NOT block the event loop."""

    async def ensure_ready(self) -> None:
        """SHALL make what is missing."""
        ...

    async def put(self, job_id: UUID, chunks: AsyncIterator[bytes]) -> None:
        """SHALL be atomic and durable on return; an error of `chunks` leaves nothing behind and comes out as is."""
        ...

    async def size_bytes(self, job_id: UUID) -> int: ...

    def read(self, job_id: UUID) -> AsyncIterator[bytes]: ...

    async def delete(self, job_id: UUID) -> None:
        """SHALL succeed when it is gone, also when it never was."""
        ...

    async def page(self, after: UUID | None, limit: int) -> Sequence[KeptFile]:
        """In the order of ids, beginning behind `after`; fewer than `limit` means the end."""
        ...

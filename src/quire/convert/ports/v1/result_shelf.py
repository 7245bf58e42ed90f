"""A directory in which every result also lies as a plain file, for readers beside Quire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from quire.convert.domain.kept_file import KeptFile


class ResultDraft(Protocol):
    async def write(self, chunk: bytes) -> None: ...

    async def publish(self, size_bytes: int) -> str:
        """SHALL make all bytes durable, then visible at once under the job's id, and SHALL check that a file of this
        size is there. Answers its path."""
        ...

    async def close(self) -> None:
        """SHALL drop what was not published."""
        ...


class ResultShelf(Protocol):
    """Every method SHALL raise only errors of storage, and SHALL NOT block the event loop."""

    async def ensure_ready(self) -> None:
        """SHALL make what is missing."""
        ...

    def draft(self, job_id: UUID, fence: int) -> ResultDraft:
        """Attempts of one job SHALL NOT meet in one draft: the fence keeps them apart."""
        ...

    async def delete(self, job_id: UUID) -> None: ...

    async def page(self, after: UUID | None, limit: int) -> Sequence[KeptFile]: ...

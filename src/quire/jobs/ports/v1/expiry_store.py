"""What has outlived its use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID


class ExpiryStore(Protocol):
    async def due(self, limit: int) -> Sequence[UUID]: ...

    async def artifacts_of(self, job_ids: Sequence[UUID]) -> Sequence[tuple[UUID, str]]:
        """Job and key of every artifact of these jobs."""
        ...

    async def expire(self, job_ids: Sequence[UUID], actor: str) -> Sequence[str]:
        """The kinds of those that expired now, one entry a job."""
        ...

    async def stray_artifacts(self, limit: int, age_seconds: float) -> Sequence[str]: ...

    async def forget_artifacts(self, keys: Sequence[str]) -> None: ...

    async def prune(self, event_days: float, job_days: float, limit: int) -> int:
        """SHALL delete at most about `limit` rows a table and say how many went."""
        ...

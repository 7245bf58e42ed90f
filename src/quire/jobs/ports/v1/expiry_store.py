"""What has outlived its use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Backlog:
    chore: str
    due: int
    oldest_seconds: float
    """For how long the oldest of them has been due."""


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

    async def prune_events(self, event_days: float, limit: int) -> int:
        """SHALL delete at most `limit` old lines of expired jobs' timelines and say how many went."""
        ...

    async def prune_jobs(self, job_days: float, limit: int) -> int:
        """SHALL delete at most `limit` jobs that expired so long ago, with all that hangs on them."""
        ...

    async def prune_ticks(self, limit: int) -> int:
        """SHALL delete at most `limit` old ticks of schedules, and never the newest of one."""
        ...

    async def tidy(self) -> None:
        """SHALL drop what is small and needs no pages: outcomes no breaker looks at, workers long gone."""
        ...

    async def backlog(self, job_days: float, stray_seconds: float, limit: int) -> Sequence[Backlog]:
        """What is due and not yet swept, one entry a chore; SHALL count no further than `limit`."""
        ...

"""Who works now, and who holds a single-holder role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class WorkerCard:
    """What a worker says of itself when it starts."""

    id: UUID
    host: str
    pid: int
    version: str
    queues: tuple[str, ...]
    concurrency: int
    lease_seconds: float


@dataclass(frozen=True, slots=True)
class LiveWorker:
    id: UUID
    host: str
    pid: int
    version: str
    queues: tuple[str, ...]
    concurrency: int
    started_at: datetime
    beat_at: datetime
    running_jobs: int
    claiming: bool


class WorkerRegistry(Protocol):
    async def register(self, card: WorkerCard) -> None: ...

    async def beat(self, worker_id: UUID, running_jobs: int, claiming: bool) -> None: ...

    async def sign_off(self, worker_id: UUID) -> None: ...

    async def live(self) -> Sequence[LiveWorker]:
        """SHALL list only workers that showed themselves within the last second."""
        ...

    async def take_role(self, role: str, holder: UUID, lease_seconds: float) -> bool:
        """SHALL be true for one holder at a time."""
        ...

    async def role_due(self, role: str, every_seconds: float) -> bool: ...

    async def note_role_run(self, role: str, holder: UUID) -> None: ...

    async def release_role(self, role: str, holder: UUID) -> None: ...

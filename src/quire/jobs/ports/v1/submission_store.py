"""Where new jobs are stored, once a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from quire.jobs.domain.job import Artifact, Submission
from quire.jobs.domain.state import JobState


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The live job that already answers for a key. `expired`: its time is over, but it has not let go of the key."""

    job_id: UUID
    job_key: bytes
    state: JobState
    created_by: str
    artifact_key: str | None
    artifact: Artifact | None
    """What is published under the key."""


@dataclass(frozen=True, slots=True)
class Survey:
    holders: Mapping[bytes, KeyHolder]
    served: frozenset[str]
    """Queues that a live worker takes work from now."""


class SubmissionStore(Protocol):
    async def insert(
        self, submissions: Sequence[Submission], *, queued_max: int | None = None
    ) -> frozenset[UUID]:
        """SHALL store each submission whose key is free, all in one transaction, and name the stored ones.
        Of several with one key exactly one is stored, however many callers race. SHALL raise
        DependencyUnusableError, and store nothing, when a job to wait for is missing or ended without success; and
        DependencyHeldError, storing nothing, when one waits for another of this call whose key is held."""
        ...

    async def survey(self, keys: Sequence[bytes], queues: Sequence[str] = ()) -> Survey:
        """SHALL tell who holds the keys, and which of the queues are served, as of one moment."""
        ...

    async def add_interests(self, interests: Sequence[tuple[UUID, str]]) -> frozenset[UUID]:
        """SHALL name only jobs that were still live when the interest was noted."""
        ...

    async def expire_holders(self, job_ids: Sequence[UUID], actor: str) -> Sequence[str]:
        """SHALL free the keys of jobs whose time is over. The kinds of those that expired now, one entry a job."""
        ...

    async def expire_vanished(self, job_id: UUID, artifact_key: str, actor: str) -> bool:
        """SHALL free the key of a job whose artifact is gone, and drop the record of the artifact."""
        ...

"""Reading jobs and queues, and people's commands on them. Every read is scoped to what the caller may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol
from uuid import UUID

from quire.jobs.domain.job import Job, JobDetail, JobFilter, QueueDepth
from quire.jobs.domain.problem import Problem, ProblemFilter


@dataclass(frozen=True, slots=True)
class Sight:
    """What a caller may see: one tenant or all (None), and inside it all jobs or only a principal's own."""

    tenant_id: str | None
    principal_id: str | None = None


CancelOutcome = Literal["cancelled", "cancelling", "interest_withdrawn", "already_ended"]


class JobBoard(Protocol):
    async def get(self, job_id: UUID, sight: Sight) -> Job | None: ...

    async def detail(self, job_id: UUID, sight: Sight) -> JobDetail | None: ...

    async def outcome(self, job_id: UUID, sight: Sight, *, with_payload: bool = True) -> JobDetail | None:
        """The same without history and dependencies, and its payload None unless wanted: for callers who wait for what
        a job makes, and ask often."""
        ...

    async def list_jobs(self, wanted: JobFilter) -> list[Job]: ...

    async def of_sha256(self, sha256: str, kind: str, sight: Sight) -> UUID | None:
        """The newest job in sight whose artifact has this hash, as lower-case hex."""
        ...

    async def visible_among(self, job_ids: Sequence[UUID], sight: Sight) -> frozenset[UUID]: ...

    async def ended_among(self, job_ids: Sequence[UUID]) -> frozenset[UUID]: ...

    async def cancel(self, job_id: UUID, sight: Sight, actor: str, *, force: bool) -> CancelOutcome | None:
        """SHALL end a job that nobody runs at once, and ask the holder of a running one. Unless `force`, SHALL
        only withdraw the actor's own interest while others have one. None: no such job in sight."""
        ...

    async def queue_depths(self, queues: Sequence[str]) -> list[QueueDepth]: ...

    async def pause(self, queue: str, actor: str) -> None: ...

    async def resume(self, queue: str) -> None: ...


class ProblemLog(Protocol):
    async def get(self, problem_id: UUID, sight: Sight) -> Problem | None: ...

    async def list_problems(self, wanted: ProblemFilter) -> list[Problem]: ...

    async def open_of_job(self, job_id: UUID) -> UUID | None: ...

    async def retry(self, problem: Problem, actor: str) -> None:
        """SHALL restart the job and note the decision in one transaction, release what failed only because of it,
        and raise NewerJobExistsError (nothing changed) when a newer job holds the key, or TenantQuotaError when the
        tenant has no room in the job's queue."""
        ...

    async def discard(self, problem: Problem, actor: str) -> None: ...

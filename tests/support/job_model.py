"""What the engine promises about jobs, as a few lines of Python without any database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

MAX_CRASHES = 3
LIVE = ("waiting", "queued", "running", "succeeded")
DEAD = ("failed", "cancelled")


@dataclass
class ModelJob:
    id: UUID
    key: bytes | None
    depends_on: tuple[UUID, ...]
    state: str = "queued"
    attempt: int = 0
    retry_count: int = 0
    crash_count: int = 0
    fence: int = 0
    holder: UUID | None = None
    lease_expired: bool = False
    cancel_requested: bool = False
    error_code: str | None = None
    problem_open: bool = False
    ever_succeeded: bool = False


@dataclass
class Model:
    jobs: dict[UUID, ModelJob] = field(default_factory=dict)

    # --- asking

    def key_is_held(self, key: bytes | None) -> bool:
        return key is not None and any(job.key == key and job.state in LIVE for job in self.jobs.values())

    def may_wait_for(self, depends_on: Sequence[UUID]) -> bool:
        return all(self.jobs[dep].state in LIVE for dep in depends_on)

    def in_state(self, *states: str) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job.state in states]

    def pending(self, job: ModelJob) -> int:
        return sum(self.jobs[dep].state in ("waiting", "queued", "running") for dep in job.depends_on)

    def holds(self, worker: UUID, job_id: UUID, fence: int) -> bool:
        job = self.jobs[job_id]
        return (job.state, job.holder, job.fence) == ("running", worker, fence)

    # --- what workers do

    def enqueue(self, job_id: UUID, key: bytes | None, depends_on: tuple[UUID, ...]) -> None:
        job = self.jobs[job_id] = ModelJob(job_id, key, depends_on)
        job.state = "waiting" if self.pending(job) else "queued"

    def claim(self, job_id: UUID, worker: UUID) -> None:
        job = self.jobs[job_id]
        job.state, job.holder, job.lease_expired = "running", worker, False
        job.fence += 1
        job.attempt += 1

    def succeed(self, job_id: UUID) -> None:
        job = self._leave(job_id, "succeeded")
        job.error_code, job.ever_succeeded = None, True
        for parent in self._parents(job_id):
            if parent.state == "waiting" and not self.pending(parent):
                parent.state = "queued"

    def retry(self, job_id: UUID, code: str) -> None:
        job = self._leave(job_id, "queued")
        job.retry_count += 1
        job.error_code = code
        self._cancel_if_asked(job)

    def hand_back(self, job_id: UUID) -> None:
        job = self._leave(job_id, "queued")
        job.attempt -= 1
        self._cancel_if_asked(job)

    def bury(self, job_id: UUID, code: str) -> None:
        self._fail(self._leave(job_id, "failed"), code)

    def end_cancelled(self, job_id: UUID) -> None:
        job = self._leave(job_id, "cancelled")
        job.error_code = None
        self._fail_parents(job_id)

    def reclaim(self) -> int:
        expired = [job for job in self.in_state("running") if job.lease_expired]
        for job in expired:
            self._leave(job.id, "queued")
            job.attempt -= 1
            job.crash_count += 1
            if job.cancel_requested:
                self._cancel_if_asked(job)
            elif job.crash_count >= MAX_CRASHES:
                self._fail(job, "WORKER_LOST")
        return len(expired)

    # --- what people do

    def cancel(self, job_id: UUID) -> str:
        job = self.jobs[job_id]
        if job.state == "running":
            job.cancel_requested = True
            return "cancelling"
        if job.state not in ("waiting", "queued"):
            return "already_ended"
        job.state, job.cancel_requested = "cancelled", True
        self._fail_parents(job_id)
        return "cancelled"

    def restart(self, job_id: UUID) -> str | None:
        """The code of the refusal, or None when the job runs again."""
        job = self.jobs[job_id]
        if self._waits_for_the_dead(job):
            return "DEPENDENCY_FAILED"
        if self.key_is_held(job.key):
            return "NEWER_JOB_EXISTS"
        self._begin_anew(job, "waiting" if self.pending(job) else "queued")
        self._release_parents(job_id)
        return None

    def expire(self, job_id: UUID) -> None:
        """By its time or by a person who gives it up."""
        self.jobs[job_id].state = "expired"
        self.jobs[job_id].problem_open = False

    # --- consequences

    def _leave(self, job_id: UUID, state: str) -> ModelJob:
        job = self.jobs[job_id]
        job.state, job.holder, job.lease_expired = state, None, False
        return job

    def _cancel_if_asked(self, job: ModelJob) -> None:
        if job.cancel_requested:
            job.state = "cancelled"
            self._fail_parents(job.id)

    def _fail(self, job: ModelJob, code: str) -> None:
        job.state, job.error_code, job.problem_open = "failed", code, True
        self._fail_parents(job.id)

    def _fail_parents(self, job_id: UUID) -> None:
        for parent in self._parents(job_id):
            if parent.state == "waiting":
                self._fail(parent, "DEPENDENCY_FAILED")

    def _begin_anew(self, job: ModelJob, state: str) -> None:
        job.state, job.problem_open, job.error_code, job.cancel_requested = state, False, None, False
        job.attempt = job.crash_count = 0

    def _release_parents(self, job_id: UUID) -> None:
        for parent in sorted(self._parents(job_id), key=lambda job: job.id):
            stuck = self._waits_for_the_dead(parent) or self.key_is_held(parent.key)
            if parent.state == "failed" and parent.error_code == "DEPENDENCY_FAILED" and not stuck:
                self._begin_anew(parent, "waiting")
                self._release_parents(parent.id)

    def _waits_for_the_dead(self, job: ModelJob) -> bool:
        children = [self.jobs[dep] for dep in job.depends_on]
        return any(c.state in DEAD or (c.state == "expired" and not c.ever_succeeded) for c in children)

    def _parents(self, job_id: UUID) -> list[ModelJob]:
        return [job for job in self.jobs.values() if job_id in job.depends_on]

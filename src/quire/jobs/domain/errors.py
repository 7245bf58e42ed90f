"""What the engine refuses, and how a handler says that its work failed."""

from __future__ import annotations

from collections.abc import Mapping

from quire.jobs.domain.deferral import Deferral
from quire.jobs.domain.failure_advice import NO_ADVICE, FailureAdvice
from quire.kernel import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    QuireError,
    RateLimitedError,
    TooLargeError,
    UnavailableError,
)

WORKER_LOST = "WORKER_LOST"
DEPENDENCY_FAILED = "DEPENDENCY_FAILED"
JOB_TIMEOUT = "JOB_TIMEOUT"
UNKNOWN_KIND = "UNKNOWN_KIND"
PAYLOAD_UNDECODABLE = "PAYLOAD_UNDECODABLE"
RESULT_INVALID = "RESULT_INVALID"
HANDLER_CRASHED = "HANDLER_CRASHED"
OUTCOME_UNSTORABLE = "OUTCOME_UNSTORABLE"
DEFERRED_TOO_LONG = "DEFERRED_TOO_LONG"


class UnknownKindError(InvalidInputError):
    code = UNKNOWN_KIND
    title = "No such kind of job"


class PayloadUndecodableError(InvalidInputError):
    code = PAYLOAD_UNDECODABLE
    title = "The payload does not fit the kind"


class PayloadTooLargeError(TooLargeError):
    code = "PAYLOAD_TOO_LARGE"
    title = "The payload is too large"


class UnknownQueueError(NotFoundError):
    code = "QUEUE_NOT_FOUND"
    title = "No such queue"


class QueueNotAllowedError(InvalidInputError):
    code = "QUEUE_NOT_ALLOWED"
    title = "This kind of job does not run in that queue"


class SizeClassNotAllowedError(InvalidInputError):
    code = "SIZE_CLASS_NOT_ALLOWED"
    title = "This kind of job has no such size class"


class JobNotFoundError(NotFoundError):
    code = "JOB_NOT_FOUND"
    title = "No such job"


class ProblemNotFoundError(NotFoundError):
    code = "PROBLEM_NOT_FOUND"
    title = "No such problem"


class JobStateConflictError(ConflictError):
    code = "JOB_STATE_CONFLICT"
    title = "The job is in a state that does not allow this"


class NewerJobExistsError(ConflictError):
    code = "NEWER_JOB_EXISTS"
    title = "A newer job does the same work"


class ArtifactNotFoundError(NotFoundError):
    code = "ARTIFACT_NOT_FOUND"
    title = "The job has no artifact"


class ArtifactNotYoursError(ForbiddenError):
    """The caller sees the job, and may not have the bytes it made."""

    code = "ARTIFACT_NOT_YOURS"
    title = "The artifact belongs to another user"


class DependencyUnusableError(ConflictError):
    code = DEPENDENCY_FAILED
    title = "A job to wait for has failed or does not exist"


class DependencyHeldError(ConflictError):
    """A job that others of the same batch wait for is being done by a stored job already. Nothing was stored."""

    code = "DEPENDENCY_HELD"
    title = "A job of the batch exists already"


class UnknownDecisionError(InvalidInputError):
    code = "DECISION_UNKNOWN"
    title = "No such decision for this kind of job"


class TenantQuotaError(RateLimitedError):
    code = "TENANT_QUOTA_EXCEEDED"
    title = "The tenant has too much work queued here"


class NoLiveWorkerError(UnavailableError):
    code = "WORKER_UNAVAILABLE"
    title = "No live worker serves this kind now"


class BrokerUnavailableError(UnavailableError):
    """Only where QUIRE_BROKER_REQUIRED: nothing was stored. Elsewhere the job is accepted and its message follows."""

    code = "BROKER_UNAVAILABLE"
    title = "The message broker cannot be reached"


class JobError(QuireError):
    """Raised by a handler: the attempt failed with this code. The retry policy decides what follows."""

    code = "JOB_FAILED"
    title = "The job failed"

    def __init__(
        self,
        detail: str = "",
        *,
        code: str | None = None,
        retryable: bool | None = None,
        extra: Mapping[str, object] | None = None,
        advice: FailureAdvice = NO_ADVICE,
    ) -> None:
        super().__init__(detail, code=code, retryable=retryable, extra=extra)
        self.advice = advice


class JobDeferredError(QuireError):
    """Raised by a handler: not here or not now, through no fault of the job. It goes back to its queue for
    `delay_seconds`, later for longer, and no attempt is burnt. `reason` says what it waits for, and is the same each
    time. After the `deferral_limit_seconds` of its kind it fails with `end_code`, and `remedy` is in its problem."""

    code = "JOB_DEFERRED"
    title = "The job goes back to its queue"

    def __init__(
        self, reason: str, delay_seconds: float, *, end_code: str = DEFERRED_TOO_LONG, remedy: str = ""
    ) -> None:
        super().__init__(reason)
        self.delay_seconds = delay_seconds
        self.deferral = Deferral(end_code, remedy)


class JobStoppedError(JobError):
    """Raised by a handler that was asked to stop and does. Who asked decides what becomes of the job."""

    code = "JOB_STOPPED"
    title = "Stopped as asked"


class OutcomeUnstorableError(QuireError):
    """The database answers and refuses what an attempt ended with: text that is none, a number out of range, a broken
    constraint. Sending it again cannot help."""

    code = OUTCOME_UNSTORABLE
    title = "The outcome of the attempt cannot be stored"


class LeaseLostError(QuireError):
    """The fence is stale: someone else owns the job. Stop the work and discard its output."""

    code = "LEASE_LOST"
    title = "The lease was lost"

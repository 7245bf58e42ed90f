"""Front door of the durable job engine. Other contexts import from here only.

Register a `Handler` for a kind, accept work with `enqueue_jobs`, and a worker does it exactly once.
"""

from quire.jobs.application.execution.handler_registry import HandlerRegistry
from quire.jobs.application.execution.heed_stop import heed_stop
from quire.jobs.application.execution.worker import Worker, WorkerOptions, WorkerParts
from quire.jobs.application.inspection.artifact_access import may_have_bytes
from quire.jobs.application.inspection.cancel_job import cancel_job
from quire.jobs.application.inspection.completion_watch import CompletionWatch
from quire.jobs.application.inspection.find_job_of_sha256 import find_job_of_sha256
from quire.jobs.application.inspection.list_jobs import list_jobs
from quire.jobs.application.inspection.list_openable_jobs import list_openable_jobs
from quire.jobs.application.intake.enqueue_jobs import Intake, JobRequest, enqueue_jobs
from quire.jobs.application.transitions import watch_transitions
from quire.jobs.domain.errors import (
    JobDeferredError,
    JobError,
    JobNotFoundError,
    JobStoppedError,
    LeaseLostError,
    NoLiveWorkerError,
)
from quire.jobs.domain.failure_advice import FailureAdvice
from quire.jobs.domain.job import Artifact, Job, JobDetail, JobEvent, JobFilter, QueueDepth, Receipt
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.schedules.schedule import Schedule
from quire.jobs.domain.state import ENDED_STATES, JobState
from quire.jobs.domain.transition import Transition
from quire.jobs.infrastructure.yaml.policies import load_policies
from quire.jobs.ports.v1.admission import Admission, AdmitAll
from quire.jobs.ports.v1.broker import Broker
from quire.jobs.ports.v1.handler import Handler, JobContext
from quire.jobs.ports.v1.job_board import JobBoard, Sight
from quire.jobs.presentation.handlers.diagnostics import diagnostic_handlers

__all__ = [
    "ENDED_STATES",
    "Admission",
    "AdmitAll",
    "Artifact",
    "Broker",
    "CompletionWatch",
    "FailureAdvice",
    "Handler",
    "HandlerRegistry",
    "Intake",
    "Job",
    "JobBoard",
    "JobContext",
    "JobDeferredError",
    "JobDetail",
    "JobError",
    "JobEvent",
    "JobFilter",
    "JobNotFoundError",
    "JobRequest",
    "JobState",
    "JobStoppedError",
    "LeaseLostError",
    "NoLiveWorkerError",
    "Policies",
    "QueueDepth",
    "Receipt",
    "Schedule",
    "Sight",
    "Transition",
    "Worker",
    "WorkerOptions",
    "WorkerParts",
    "cancel_job",
    "diagnostic_handlers",
    "enqueue_jobs",
    "find_job_of_sha256",
    "heed_stop",
    "list_jobs",
    "list_openable_jobs",
    "load_policies",
    "may_have_bytes",
    "watch_transitions",
]

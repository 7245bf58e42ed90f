"""What the engine's routes work with; wired by the entrypoint."""

from __future__ import annotations

from dataclasses import dataclass

from quire.jobs.application.inspection.completion_watch import CompletionWatch
from quire.jobs.application.intake.enqueue_jobs import Intake
from quire.jobs.application.problems.decision_registry import DecisionRegistry
from quire.jobs.domain.policies import Policies
from quire.jobs.ports.v1.broker import Broker
from quire.jobs.ports.v1.integration_gate import IntegrationGate
from quire.jobs.ports.v1.job_board import JobBoard, ProblemLog
from quire.jobs.ports.v1.worker_registry import WorkerRegistry
from quire.runtime.storage import StorageBackend


@dataclass(frozen=True, slots=True)
class JobDesk:
    intake: Intake
    board: JobBoard
    problems: ProblemLog
    decisions: DecisionRegistry
    gate: IntegrationGate
    registry: WorkerRegistry
    broker: Broker
    watch: CompletionWatch
    storage: StorageBackend
    policies: Policies

"""All policy of the engine, read once at start from config/*.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from quire.jobs.domain.queue import QueuePolicies
from quire.jobs.domain.retry import RetryPolicies
from quire.jobs.domain.throttle import IntegrationPolicy


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long traces of ended work stay."""

    event_days: float = 30.0
    job_days: float = 90.0


@dataclass(frozen=True, slots=True)
class Policies:
    queues: QueuePolicies
    retries: RetryPolicies
    integrations: Mapping[str, IntegrationPolicy] = field(default_factory=dict)
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)

    def integration_of(self, kind: str, queue: str) -> IntegrationPolicy | None:
        """What a job of this kind in this queue calls. A queue may hold jobs that do not belong there (accepted under
        an older policy); what becomes of them says nothing about the integration."""
        name = self.queues.queue(queue).integration
        uses = name is not None and queue in self.queues.kind(kind).queues
        return self.integrations[name] if name is not None and uses else None

    def queues_of(self, integration: str) -> list[str]:
        return [q.name for q in self.queues.queues.values() if q.integration == integration]

"""Lanes and kinds: the taxonomy of work, as read from config/queues.yaml."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from quire.jobs.domain.errors import (
    JOB_TIMEOUT,
    QueueNotAllowedError,
    SizeClassNotAllowedError,
    UnknownQueueError,
)
from quire.kernel import there_is

SIZE_CLASSES = ("small", "medium", "large", "xlarge")


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    name: str
    size_class: str = "small"
    hard_limit_seconds: float = 300.0
    soft_limit_seconds: float = 295.0
    integration: str | None = None
    fair_tenants: bool = False
    tenant_queued_max: int | None = None
    tenant_running_max: int | None = None

    @property
    def priority(self) -> int:
        return SIZE_CLASSES.index(self.size_class)

    @property
    def tenant_lane(self) -> bool:
        """Claims here look at tenants, so they go one at a time."""
        return self.fair_tenants or self.tenant_running_max is not None or self.tenant_queued_max is not None

    @property
    def gated(self) -> bool:
        return self.integration is not None or self.tenant_lane


@dataclass(frozen=True, slots=True)
class KindPolicy:
    """`queues`: where its jobs may go, the first unless a request says otherwise. `size_classes`: what a caller may ask
    for; none listed, only the class of the queue."""

    name: str
    queues: tuple[str, ...] = ("default",)
    size_classes: tuple[str, ...] = ()
    ttl_seconds: float = 7 * 86400.0
    timeout_code: str = JOB_TIMEOUT
    require_worker: bool = False
    unavailable_code: str = "WORKER_UNAVAILABLE"
    max_payload_bytes: int = 262_144
    deferral_limit_seconds: float = 3600.0

    @property
    def queue(self) -> str:
        return self.queues[0]


@dataclass(frozen=True, slots=True)
class QueuePolicies:
    queues: Mapping[str, QueuePolicy]
    kinds: Mapping[str, KindPolicy]
    size_limits_bytes: Mapping[str, int] = field(default_factory=dict)

    def queue(self, name: str) -> QueuePolicy:
        try:
            return self.queues[name]
        except KeyError:
            raise UnknownQueueError(f"no queue named {name[:100]!r}; {there_is(self.queues, name)}") from None

    def kind(self, name: str) -> KindPolicy:
        return self.kinds.get(name) or KindPolicy(name)

    def queue_for(self, kind: KindPolicy, wanted: str | None) -> QueuePolicy:
        """Where a new job of this kind goes."""
        queue = self.queue(wanted or kind.queue)
        if queue.name not in kind.queues:
            raise QueueNotAllowedError(
                f"kind {kind.name!r} does not run in queue {queue.name!r}; it runs in: {', '.join(kind.queues)}",
                extra={"allowed": list(kind.queues)},
            )
        return queue

    def check_size_class(self, kind: KindPolicy, queue: QueuePolicy, wanted: str) -> None:
        """What a caller asks for. Who measured the work itself need not ask."""
        allowed = kind.size_classes or (queue.size_class,)
        if wanted not in allowed:
            raise SizeClassNotAllowedError(
                f"kind {kind.name!r} has no size class {wanted!r} in queue {queue.name!r}; "
                f"it has: {', '.join(allowed)}",
                extra={"allowed": list(allowed)},
            )

    def matching(self, patterns: Iterable[str]) -> list[QueuePolicy]:
        """The queues a worker serves, smallest class first."""
        wanted = list(patterns)
        chosen = [q for q in self.queues.values() if any(fnmatch.fnmatchcase(q.name, p) for p in wanted)]
        return sorted(chosen, key=lambda queue: (queue.priority, queue.name))

    def size_class_of(self, size_bytes: int) -> str:
        for name in SIZE_CLASSES[:-1]:
            if size_bytes <= self.size_limits_bytes.get(name, 0):
                return name
        return SIZE_CLASSES[-1]

"""Every queue with its policy and what it holds now."""

from __future__ import annotations

from quire.jobs.domain.job import QueueDepth
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.queue import QueuePolicy
from quire.jobs.ports.v1.job_board import JobBoard
from quire.runtime.auth import PLATFORM_SCOPE, Principal, requires


@requires("operator", scope=PLATFORM_SCOPE)
async def list_queues(
    board: JobBoard, policies: Policies, caller: Principal
) -> list[tuple[QueuePolicy, QueueDepth]]:
    """A queue is shared, and its depth tells of every tenant's work."""
    queues = policies.queues.queues
    return [(queues[depth.queue], depth) for depth in await board.queue_depths(sorted(queues))]

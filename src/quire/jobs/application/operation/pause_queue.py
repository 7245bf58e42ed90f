"""Stop claims from a queue; what runs goes on and new jobs are still accepted."""

from __future__ import annotations

from quire.jobs.domain.policies import Policies
from quire.jobs.ports.v1.job_board import JobBoard
from quire.runtime.auth import PLATFORM_SCOPE, Principal, requires


@requires("operator", scope=PLATFORM_SCOPE)
async def pause_queue(board: JobBoard, policies: Policies, caller: Principal, name: str) -> None:
    """Pausing a paused queue changes nothing, not even who paused it."""
    await board.pause(policies.queues.queue(name).name, caller.id)

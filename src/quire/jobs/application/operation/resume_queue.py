"""Let workers claim from a paused queue again."""

from __future__ import annotations

from quire.jobs.domain.policies import Policies
from quire.jobs.ports.v1.broker import WORK, Broker
from quire.jobs.ports.v1.job_board import JobBoard
from quire.runtime.auth import PLATFORM_SCOPE, Principal, requires


@requires("operator", scope=PLATFORM_SCOPE)
async def resume_queue(
    board: JobBoard, policies: Policies, broker: Broker, caller: Principal, name: str
) -> None:
    await board.resume(policies.queues.queue(name).name)
    broker.announce(WORK)

"""The workers that showed themselves within the last second."""

from __future__ import annotations

from collections.abc import Sequence

from quire.jobs.ports.v1.worker_registry import LiveWorker, WorkerRegistry
from quire.runtime.auth import PLATFORM_SCOPE, Principal, requires


@requires("operator", scope=PLATFORM_SCOPE)
async def list_workers(registry: WorkerRegistry, caller: Principal) -> Sequence[LiveWorker]:
    return await registry.live()

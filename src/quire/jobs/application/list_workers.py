"""The workers that showed themselves within the last second."""

from __future__ import annotations

from collections.abc import Sequence

from quire.jobs.ports.v1.worker_registry import LiveWorker, WorkerRegistry
from quire.runtime.auth import Principal, require_role


async def list_workers(registry: WorkerRegistry, caller: Principal) -> Sequence[LiveWorker]:
    require_role(caller, "operator")
    return await registry.live()

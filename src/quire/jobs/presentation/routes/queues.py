"""`/queues`, `/workers`, `/integrations`: what all tenants share, for operators of the platform."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from quire.jobs.application.operation.list_integrations import list_integrations
from quire.jobs.application.operation.list_queues import list_queues
from quire.jobs.application.operation.list_workers import list_workers
from quire.jobs.application.operation.pause_queue import pause_queue
from quire.jobs.application.operation.resume_queue import resume_queue
from quire.jobs.presentation.routes.desk import JobDesk
from quire.jobs.presentation.schemas.queue import (
    IntegrationList,
    IntegrationView,
    QueueList,
    QueueView,
    WorkerList,
    WorkerView,
    queue_view,
)
from quire.runtime.auth import Principal
from quire.runtime.http import StrictRoute, allowed

QueueName = Annotated[str, Path(min_length=1, max_length=100)]


def queue_routes(desk: JobDesk) -> APIRouter:
    router = APIRouter(tags=["queues"], route_class=StrictRoute)

    @router.get("/queues", name="list_queues")
    async def list_(caller: Annotated[Principal, allowed(list_queues)]) -> QueueList:
        """Counts stop at 100,000 a queue."""
        return QueueList(items=await _queues(desk, caller))

    @router.post("/queues/{name}/pause", name="pause_queue")
    async def pause(caller: Annotated[Principal, allowed(pause_queue)], name: QueueName) -> QueueView:
        """Nothing of it is claimed until it is resumed; what runs goes on and new jobs are accepted."""
        await pause_queue(desk.board, desk.policies, caller, name)
        return await _queue(desk, caller, name)

    @router.post("/queues/{name}/resume", name="resume_queue")
    async def resume(caller: Annotated[Principal, allowed(resume_queue)], name: QueueName) -> QueueView:
        await resume_queue(desk.board, desk.policies, desk.broker, caller, name)
        return await _queue(desk, caller, name)

    @router.get("/workers", name="list_workers")
    async def workers(caller: Annotated[Principal, allowed(list_workers)]) -> WorkerList:
        """Those that showed themselves within the last second."""
        live = await list_workers(desk.registry, caller)
        return WorkerList(items=[WorkerView.model_validate(worker) for worker in live])

    @router.get("/integrations", name="list_integrations")
    async def integrations(caller: Annotated[Principal, allowed(list_integrations)]) -> IntegrationList:
        """Counts are of the last minute."""
        found = await list_integrations(desk.gate, caller)
        return IntegrationList(items=[IntegrationView.model_validate(item) for item in found])

    return router


async def _queues(desk: JobDesk, caller: Principal) -> list[QueueView]:
    return [queue_view(*pair) for pair in await list_queues(desk.board, desk.policies, caller)]


async def _queue(desk: JobDesk, caller: Principal, name: str) -> QueueView:
    return next(queue for queue in await _queues(desk, caller) if queue.name == name)

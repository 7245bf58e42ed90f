"""The engine over HTTP. `job_routers` gives every router; the entrypoint hands them to the application."""

from __future__ import annotations

from fastapi import APIRouter

from quire.jobs.presentation.routes.artifacts import artifact_routes
from quire.jobs.presentation.routes.desk import JobDesk
from quire.jobs.presentation.routes.jobs import job_routes
from quire.jobs.presentation.routes.problems import problem_routes
from quire.jobs.presentation.routes.queues import queue_routes

__all__ = ["JobDesk", "job_routers"]


def job_routers(desk: JobDesk) -> list[APIRouter]:
    return [job_routes(desk), artifact_routes(desk), problem_routes(desk), queue_routes(desk)]

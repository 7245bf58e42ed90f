"""Wires schedules: routes for the API, a scheduler for every worker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import structlog

from quire.entrypoints.engine import Engine
from quire.entrypoints.pdf_desk import render_desk
from quire.entrypoints.render import open_templates
from quire.entrypoints.shipped import shipped_dir
from quire.jobs import Schedule
from quire.jobs.application.schedules.enqueue_tick import TickIntake
from quire.jobs.application.schedules.scheduler import Scheduler
from quire.jobs.infrastructure.postgres.schedule_book import PostgresScheduleBook
from quire.jobs.infrastructure.yaml.schedules import load_schedules
from quire.render import KIND as RENDER_KIND
from quire.runtime.settings import Settings

log = structlog.get_logger(__name__)


def tick_intake(engine: Engine, settings: Settings) -> TickIntake:
    """A document's template and renderer are those of its tick, so a schedule holds what `POST /pdf/jobs` takes."""
    desk = render_desk(engine, settings, open_templates(settings))

    def document(schedule: Schedule) -> Mapping[str, object]:
        # It brings the web framework along, which a worker without such a schedule never needs.
        from quire.render.presentation.scheduled_document import scheduled_document

        return scheduled_document(desk, schedule)

    return TickIntake(engine.intake, {RENDER_KIND: document})


@asynccontextmanager
async def scheduler_running(
    engine: Engine, settings: Settings, on_death: Callable[[], None]
) -> AsyncIterator[None]:
    book = PostgresScheduleBook(engine.database)
    await book.register(load_schedules(settings.config_dir or shipped_dir("config")), await book.now())
    task = asyncio.create_task(Scheduler(book, tick_intake(engine, settings)).run(), name="scheduler")
    task.add_done_callback(lambda ended: _ended(ended, on_death))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _ended(task: asyncio.Task[None], on_death: Callable[[], None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("loop_died", loop="scheduler", exc_info=task.exception())
        on_death()

"""Enqueue the job of one tick, in the transaction that notes the tick."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from quire.jobs.application.enqueue_jobs import Announcement, Intake, JobRequest, enqueue_jobs
from quire.jobs.domain.errors import PayloadUndecodableError
from quire.jobs.domain.schedules.schedule import Schedule, Tick, TickOutcome
from quire.jobs.ports.v1.schedule_book import DueSchedule
from quire.kernel import ForbiddenError


async def enqueue_tick(intake: Intake, due: DueSchedule, at: datetime, announcement: Announcement) -> Tick:
    """The tick is unique by its own key, so equal payloads of two ticks are two jobs."""
    schedule = due.state.schedule
    if due.is_tenant_disabled:
        raise ForbiddenError("the tenant is disabled", code="TENANT_DISABLED")
    _check_readable(intake, schedule)
    request = JobRequest(
        schedule.kind,
        schedule.payload,
        queue=schedule.queue,
        unique=False,
        external_ref=f"schedule {schedule.name} {at.isoformat()}",
    )
    receipts = await enqueue_jobs(
        replace(intake, store=due.submissions),
        [request],
        tenant_id=schedule.tenant_id,
        created_by=f"schedule:{schedule.name}",
        announcement=announcement,
    )
    return Tick(at, TickOutcome.ENQUEUED, receipts[0].job_id)


def _check_readable(intake: Intake, schedule: Schedule) -> None:
    """A payload that its handler cannot read would fail at every tick, and open a problem each time."""
    handler = intake.handlers.get(schedule.kind)
    if handler is None:
        return
    try:
        handler.decode(schedule.payload)
    except Exception as error:
        raise PayloadUndecodableError(f"{schedule.kind}: {type(error).__name__}: {error}") from None

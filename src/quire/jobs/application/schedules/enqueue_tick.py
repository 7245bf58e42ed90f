"""Enqueue the job of one tick, in the transaction that notes the tick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from quire.jobs.application.intake.enqueue_jobs import Announcement, Intake, JobRequest, enqueue_jobs
from quire.jobs.domain.errors import PayloadUndecodableError
from quire.jobs.domain.schedules.schedule import KindNotSchedulableError, Schedule, Tick, TickOutcome
from quire.jobs.ports.v1.schedule_book import DueSchedule
from quire.kernel import ForbiddenError

Payload = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class TickIntake:
    """What enqueuing a tick needs. `payloads`: by kind, how the request that a schedule holds becomes the payload of a
    job now. Kinds that callers submit as they are need none."""

    intake: Intake
    payloads: Mapping[str, Callable[[Schedule], Payload]]


async def enqueue_tick(
    tick_intake: TickIntake, due: DueSchedule, at: datetime, announcement: Announcement
) -> Tick:
    """The tick is unique by its own key, so equal payloads of two ticks are two jobs."""
    schedule = due.state.schedule
    if due.is_tenant_disabled:
        raise ForbiddenError("the tenant is disabled", code="TENANT_DISABLED")
    request = JobRequest(
        schedule.kind,
        _payload(tick_intake, schedule),
        queue=schedule.queue,
        unique=False,
        external_ref=f"schedule {schedule.name} {at.isoformat()}",
    )
    receipts = await enqueue_jobs(
        replace(tick_intake.intake, store=due.submissions),
        [request],
        tenant_id=schedule.tenant_id,
        created_by=f"schedule:{schedule.name}",
        announcement=announcement,
    )
    return Tick(at, TickOutcome.ENQUEUED, receipts[0].job_id)


def _payload(tick_intake: TickIntake, schedule: Schedule) -> Payload:
    handler = tick_intake.intake.handlers.get(schedule.kind)
    make = tick_intake.payloads.get(schedule.kind)
    if make is not None:
        return make(schedule)
    if handler is not None and not handler.public:
        raise KindNotSchedulableError(f"{schedule.kind} cannot be scheduled, or is switched off")
    if handler is not None:
        _check_readable(handler.decode, schedule)
    return schedule.payload


def _check_readable(decode: Callable[[Payload], object], schedule: Schedule) -> None:
    """A payload that its handler cannot read would fail at every tick, and open a problem each time."""
    try:
        decode(schedule.payload)
    except Exception as error:
        raise PayloadUndecodableError(f"{schedule.kind}: {type(error).__name__}: {error}") from None

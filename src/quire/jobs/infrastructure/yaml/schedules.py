"""Reads config/schedules.yaml. A configuration directory without the file has no schedules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from quire.jobs.application.intake.storable_json import flaw_of
from quire.jobs.domain.schedules.schedule import MISSED_MAX, MissedPolicy, OverlapPolicy, Schedule
from quire.jobs.domain.schedules.timing import LONGEST_SECONDS, SHORTEST_SECONDS, Cron, Interval, Timing
from quire.jobs.infrastructure.yaml.located_file import LocatedFile, open_located
from quire.jobs.infrastructure.yaml.policy_schema import KindName, Name, Strict
from quire.kernel import QuireError, canonical_json

FILE = "schedules.yaml"
TenantId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
ScheduleName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,62}$")]


class ScheduleItem(Strict):
    kind: KindName
    cron: Annotated[str, Field(max_length=200)] | None = None
    zone: Annotated[str, Field(max_length=60)] = "UTC"
    every_seconds: Annotated[float, Field(ge=SHORTEST_SECONDS, le=LONGEST_SECONDS)] | None = None
    tenant: TenantId = "default"
    payload: dict[str, Any] = Field(default_factory=dict)
    queue: Name | None = None
    missed: MissedPolicy = MissedPolicy.ONCE
    missed_max: Annotated[int, Field(ge=1, le=MISSED_MAX)] = 100
    overlap: OverlapPolicy = OverlapPolicy.ALLOW
    grace_seconds: Annotated[float, Field(ge=1, le=LONGEST_SECONDS)] = 60.0


class SchedulesFile(Strict):
    version: Literal[1] = 1
    schedules: dict[ScheduleName, ScheduleItem] = Field(default_factory=dict)


def load_schedules(config_dir: Path) -> list[Schedule]:
    """Raises PolicyFileError (CONFIG_INVALID) that names file and line."""
    path = config_dir / FILE
    if not path.exists():
        return []
    file = open_located(path, SchedulesFile)
    return [_schedule(file, name, item) for name, item in sorted(file.content.schedules.items())]


def _schedule(file: LocatedFile[SchedulesFile], name: str, item: ScheduleItem) -> Schedule:
    return Schedule(
        name=name,
        tenant_id=item.tenant,
        kind=item.kind,
        timing=_timing(file, name, item),
        payload=_payload(file, name, item),
        queue=item.queue,
        missed=item.missed,
        missed_max=item.missed_max,
        overlap=item.overlap,
        grace_seconds=item.grace_seconds,
    )


def _payload(file: LocatedFile[SchedulesFile], name: str, item: ScheduleItem) -> dict[str, Any]:
    """YAML knows values that JSON does not, such as dates without quotes."""
    try:
        flaw = flaw_of(item.payload, canonical_json(item.payload))
    except QuireError as error:
        flaw = error.detail
    if flaw is not None:
        raise file.refusal(["schedules", name, "payload"], flaw)
    return item.payload


def _timing(file: LocatedFile[SchedulesFile], name: str, item: ScheduleItem) -> Timing:
    if (item.cron is None) == (item.every_seconds is None):
        raise file.refusal(["schedules", name], "give one of cron and every_seconds")
    if item.every_seconds is not None:
        return Interval(item.every_seconds)
    assert item.cron is not None
    try:
        return Cron(item.cron, item.zone)
    except QuireError as error:
        raise file.refusal(["schedules", name, "cron"], error.detail) from None

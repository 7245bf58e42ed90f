"""When a schedule ticks: by a cron expression in a time zone, or every so many seconds. Ticks are moments in UTC.

A tick depends on the timing alone, never on who computes it or from where, so every process names the same ticks.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from quire.kernel import InvalidInputError

SHORTEST_SECONDS = 1.0
LONGEST_SECONDS = 366 * 86400.0
# What the library answers around a clock change depends on where it starts within the changed hours.
_ANY_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_RUN_UP = timedelta(hours=4)
# A dense expression finds its newest ticks in the first window, a sparse one has few in the last.
_WINDOWS = tuple(timedelta(hours=hours) for hours in (1, 25, 24 * 32, 24 * 367, 24 * 367 * 5))


@dataclass(frozen=True, slots=True)
class Interval:
    """Every so many seconds, counted from the start of 1970."""

    seconds: float

    def __post_init__(self) -> None:
        if not SHORTEST_SECONDS <= self.seconds <= LONGEST_SECONDS:
            raise _invalid(f"every_seconds is from {SHORTEST_SECONDS:g} to {LONGEST_SECONDS:g}")

    def after(self, moment: datetime) -> Iterator[datetime]:
        number = math.floor(moment.timestamp() / self.seconds)
        while True:
            number += 1
            tick = self._tick(number)
            if tick > moment:
                yield tick

    def newest(self, after: datetime, until: datetime, count: int) -> list[datetime]:
        """At most `count` ticks in (after, until], oldest first."""
        last = math.floor(until.timestamp() / self.seconds) + 1
        ticks = (self._tick(number) for number in range(last - count - 1, last + 1))
        return [tick for tick in ticks if after < tick <= until][-count:]

    def _tick(self, number: int) -> datetime:
        return datetime.fromtimestamp(number * self.seconds, UTC)


@dataclass(frozen=True, slots=True)
class Cron:
    """As Debian's cron does it. A fixed hour that the clock skips runs right after the change, and one that the
    clock repeats runs once; wildcards follow the clock on the wall."""

    expression: str
    zone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (KeyError, ValueError, OSError):
            raise _invalid(f"no time zone named {self.zone[:60]!r}") from None
        try:
            next(CronSim(self.expression, _ANY_MOMENT))
        except CronSimError as error:
            raise _invalid(f"cron {self.expression[:60]!r}: {error}") from None
        except StopIteration:
            raise _invalid(f"cron {self.expression[:60]!r} never comes") from None

    def after(self, moment: datetime) -> Iterator[datetime]:
        start = (moment - _RUN_UP).astimezone(ZoneInfo(self.zone))
        newest = moment
        for local in CronSim(self.expression, start):
            tick = local.astimezone(UTC)
            if tick > newest:
                newest = tick
                yield tick

    def newest(self, after: datetime, until: datetime, count: int) -> list[datetime]:
        """At most `count` ticks in (after, until], oldest first. An outage of years costs no more than one of
        hours: it looks back only as far as it must."""
        for window in _WINDOWS:
            start = max(after, until - window)
            found: deque[datetime] = deque(maxlen=count)
            for tick in self.after(start):
                if tick > until:
                    break
                found.append(tick)
            if len(found) == count or start == after:
                break
        return list(found)


Timing = Cron | Interval


def next_tick(timing: Timing, after: datetime) -> datetime | None:
    """None: it never comes again."""
    return next(timing.after(after), None)


def _invalid(detail: str) -> InvalidInputError:
    return InvalidInputError(detail, code="SCHEDULE_INVALID")

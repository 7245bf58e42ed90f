"""When schedules tick, above all where clocks change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quire.jobs.domain.schedules.schedule import MissedPolicy, Schedule, due_ticks
from quire.jobs.domain.schedules.timing import Cron, Interval, Timing
from quire.kernel import InvalidInputError

BERLIN = "Europe/Berlin"
ZONES = [BERLIN, "Europe/London", "America/New_York", "Australia/Lord_Howe", "Europe/Istanbul", "Asia/Beirut"]
EXPRESSIONS = ["*/20 * * * *", "30 2 * * *", "0 * * * *", "15 1-3 * * *", "0 */2 * * *", "*/20 2 * * *"]


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type]


def ticks(timing: Timing, after: datetime, until: datetime) -> list[datetime]:
    found = []
    for tick in timing.after(after):
        if tick > until:
            break
        found.append(tick)
    return found


def test_a_fixed_hour_that_the_clock_skips_runs_right_after_the_change() -> None:
    found = ticks(Cron("30 2 * * *", BERLIN), utc(2026, 3, 28, 12), utc(2026, 3, 30, 12))
    assert found == [utc(2026, 3, 29, 1, 0), utc(2026, 3, 30, 0, 30)]


def test_a_fixed_hour_that_the_clock_repeats_runs_once() -> None:
    found = ticks(Cron("30 2 * * *", BERLIN), utc(2026, 10, 24, 12), utc(2026, 10, 26, 12))
    assert found == [utc(2026, 10, 25, 0, 30), utc(2026, 10, 26, 1, 30)]


def test_every_hour_is_every_hour_through_both_changes() -> None:
    for day in (utc(2026, 3, 28), utc(2026, 10, 24)):
        found = ticks(Cron("0 * * * *", BERLIN), day, day + timedelta(days=2))
        assert found == [day + timedelta(hours=n) for n in range(1, 49)]


def test_midnight_is_midnight_of_the_zone() -> None:
    assert list(islice(Cron("0 0 * * *", "Europe/Istanbul").after(utc(2026, 7, 1)), 2)) == [
        utc(2026, 7, 1, 21),
        utc(2026, 7, 2, 21),
    ]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(ZONES),
    st.sampled_from(EXPRESSIONS),
    st.sampled_from(
        [utc(2026, 3, 28), utc(2026, 10, 24), utc(2026, 4, 4), utc(2026, 10, 3), utc(2026, 3, 7)]
    ),
    st.integers(0, 72 * 60),
    st.integers(1, 40),
)
def test_ticks_do_not_depend_on_where_one_starts_to_count(
    zone: str, expression: str, day: datetime, minutes: int, count: int
) -> None:
    timing = Cron(expression, zone)
    until = day + timedelta(days=4)
    whole = ticks(timing, day - timedelta(days=3), until)
    assert whole == sorted(set(whole))
    start = day + timedelta(minutes=minutes)
    rest = [tick for tick in whole if tick > start]
    assert ticks(timing, start, until) == rest
    assert timing.newest(start, until, count) == rest[-count:]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([1, 7, 60, 900, 86400]), st.integers(0, 10**9), st.integers(0, 10**6), st.integers(1, 50)
)
def test_intervals_tick_by_the_epoch_whoever_counts(
    seconds: int, start: int, length: int, count: int
) -> None:
    timing = Interval(seconds)
    after = datetime.fromtimestamp(start, UTC)
    until = after + timedelta(seconds=length)
    numbers = range(start // seconds + 1, (start + length) // seconds + 1)
    expected = [datetime.fromtimestamp(n * seconds, UTC) for n in numbers[-count:]]
    assert timing.newest(after, until, count) == expected
    assert next(timing.after(after)).timestamp() == (start // seconds + 1) * seconds


def test_an_outage_of_ten_years_is_looked_at_in_a_moment() -> None:
    now = utc(2026, 11, 17)
    assert Cron("* * * * *").newest(utc(2016, 1, 1), now, 3) == [
        now - timedelta(minutes=n) for n in (2, 1, 0)
    ]
    assert Cron("0 0 29 2 *").newest(utc(2016, 1, 1), now, 1) == [utc(2024, 2, 29)]


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        (MissedPolicy.SKIP, [utc(2026, 1, 1, 5)]),
        (MissedPolicy.ONCE, [utc(2026, 1, 1, 5)]),
        (MissedPolicy.ALL, [utc(2026, 1, 1, 3), utc(2026, 1, 1, 4), utc(2026, 1, 1, 5)]),
    ],
)
def test_missed_ticks_are_skipped_or_made_up_for_by_policy(
    missed: MissedPolicy, expected: list[datetime]
) -> None:
    schedule = Schedule("s", "t", "jobs.noop", Cron("0 * * * *"), missed=missed, missed_max=3)
    on_time = utc(2026, 1, 1, 5, 0, 30)
    assert list(due_ticks(schedule, utc(2026, 1, 1, 0), on_time)) == expected
    late = utc(2026, 1, 1, 5, 30)
    assert list(due_ticks(schedule, utc(2026, 1, 1, 0), late)) == ([] if missed == "skip" else expected)


def test_a_clock_that_goes_back_makes_nothing_due() -> None:
    schedule = Schedule("s", "t", "jobs.noop", Cron("* * * * *"), missed=MissedPolicy.ALL)
    assert not due_ticks(schedule, utc(2026, 1, 1, 12), utc(2026, 1, 1, 11))


@pytest.mark.parametrize(
    "build",
    [
        lambda: Cron("61 * * * *"),
        lambda: Cron("0 0 30 2 *"),
        lambda: Cron("* * * * *", "Mars/Olympus"),
        lambda: Cron("* * * * *", "../../etc/passwd"),
        lambda: Cron("", "UTC"),
        lambda: Interval(0),
        lambda: Interval(float("nan")),
    ],
)
def test_a_timing_that_makes_no_sense_is_refused(build: Callable[[], Timing]) -> None:
    with pytest.raises(InvalidInputError) as refused:
        build()
    assert refused.value.code == "SCHEDULE_INVALID"

from __future__ import annotations

from quire.runtime.http.middleware.rate_limit import Bucket


def test_a_minutes_worth_passes_at_once_and_then_steadily() -> None:
    bucket = Bucket(60, now=0.0)
    assert all(bucket.take(0.0) for _ in range(60))
    assert not bucket.take(0.5)
    assert bucket.take(1.0)
    assert not bucket.take(1.0)


def test_rest_never_saves_up_more_than_a_minute() -> None:
    bucket = Bucket(10, now=0.0)
    assert sum(bucket.take(10_000.0) for _ in range(50)) == 10


def test_waiting_time_is_told_in_whole_seconds_and_suffices() -> None:
    bucket = Bucket(7, now=0.0)
    while bucket.take(0.0):
        pass
    wait = bucket.seconds_until(1)
    assert wait == 9
    assert bucket.take(float(wait))

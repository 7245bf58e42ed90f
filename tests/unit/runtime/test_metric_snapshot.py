"""Figures of several processes as one."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from quire.runtime.telemetry import added_up
from quire.runtime.telemetry.metric_snapshot import (
    Snapshot,
    add,
    from_json,
    subtract,
    take_snapshot,
    to_families,
    to_json,
    without_gauges,
)
from quire.runtime.telemetry.metrics import render_metrics

BOUNDS = (0.1, 1.0)


class Process:
    """What one process counts."""

    def __init__(self, bounds: tuple[float, ...] = BOUNDS) -> None:
        self.registry = CollectorRegistry()
        self.jobs = Counter("jobs_total", "Jobs", ["status", "class"], registry=self.registry)
        self.seconds = Histogram("job_seconds", "Time", buckets=bounds, registry=self.registry)
        self.running = added_up(Gauge("jobs_at_work", "Running", registry=self.registry))
        self.depth = Gauge("queue_depth", "Of the whole installation", registry=self.registry)

    def work(self, *seconds: float) -> Process:
        for each in seconds:
            self.jobs.labels("done", "small").inc()
            self.seconds.observe(each)
        self.running.set(len(seconds))
        self.depth.set(100)
        return self

    def snapshot(self) -> Snapshot:
        return take_snapshot(self.registry.collect())


def lines(snapshot: Snapshot) -> set[str]:
    body, _ = render_metrics("", to_families(snapshot))
    own = ("#", "python_", "process_")
    return {line for line in body.decode().splitlines() if not line.startswith(own)}


def test_counters_histograms_and_shares_add_up_and_other_gauges_do_not() -> None:
    total = add([Process().work(0.05, 0.5).snapshot(), Process().work(0.5, 5.0, 5.0).snapshot()])
    assert lines(total) == {
        'jobs_total{class="small",status="done"} 5.0',
        'job_seconds_bucket{le="0.1"} 1.0',
        'job_seconds_bucket{le="1.0"} 3.0',
        'job_seconds_bucket{le="+Inf"} 5.0',
        "job_seconds_count 5.0",
        "job_seconds_sum 11.05",
        "jobs_at_work 5.0",
    }


def test_bounds_that_a_release_added_are_left_out_until_all_have_them() -> None:
    older, newer = Process((0.1, 1.0)), Process((0.5, 1.0))
    total = lines(add([newer.work(0.4, 0.6).snapshot(), older.work(0.05, 5.0).snapshot()]))
    assert {line for line in total if "bucket" in line} == {
        'job_seconds_bucket{le="1.0"} 3.0',
        'job_seconds_bucket{le="+Inf"} 4.0',
    }


def test_a_family_that_changed_its_type_is_not_added_to_the_old_one() -> None:
    changed = CollectorRegistry()
    Counter("job_seconds", "Once a histogram", registry=changed).inc(7)
    total = add([Process().work(0.5).snapshot(), take_snapshot(changed.collect())])
    assert "job_seconds_count 1.0" in lines(total)
    assert not any(line.startswith("job_seconds_total") for line in lines(total))


def test_what_is_stored_comes_back_whatever_order_its_labels_are_kept_in() -> None:
    snapshot = Process().work(0.05).snapshot()
    stored = to_json(snapshot)
    stored["jobs"]["figures"] = [
        [name, dict(reversed(labels.items())), value] for name, labels, value in stored["jobs"]["figures"]
    ]
    assert from_json(stored) == snapshot


def test_what_was_counted_since_a_moment_is_the_difference_and_a_level_stays() -> None:
    process = Process().work(0.05, 0.05)
    before = process.snapshot()
    process.work(5.0)
    assert lines(subtract(process.snapshot(), before)) == {
        'jobs_total{class="small",status="done"} 1.0',
        'job_seconds_bucket{le="0.1"} 0.0',
        'job_seconds_bucket{le="1.0"} 0.0',
        'job_seconds_bucket{le="+Inf"} 1.0',
        "job_seconds_count 1.0",
        "job_seconds_sum 5.0",
        "jobs_at_work 1.0",
    }


def test_nothing_is_in_the_hands_of_a_process_that_ended() -> None:
    left = lines(without_gauges(Process().work(0.05).snapshot()))
    assert "jobs_at_work 1.0" not in left
    assert "job_seconds_count 1.0" in left

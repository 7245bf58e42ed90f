"""The job engine beside its peers, in one run on one machine: `python -m bench.jobs [--quick]`.

Every engine syncs to disk before it answers, runs in processes of its own, in turn, round after round.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.arena import CONTESTANTS, OURS, Arena, Contestant
from bench.measures.enqueue import MODES, enqueues_per_second
from bench.measures.flatness import full_jobs_per_second, full_table
from bench.measures.limit import limit_jobs_per_second
from bench.measures.pickup import quantile, waits_ms
from bench.measures.recovery import Recovery, recover
from bench.measures.soak import Soak, soak
from bench.measures.throughput import jobs_per_second
from bench.report import Row, publish
from bench.servers import postgres, redis

# What `bench.quire_runner` enqueues into, and how many jobs its worker claims and completes at once.
QUEUE = "bench"
BATCH = 500
PICKUP_P99_MS = 25.0
DURABLE = ("procrastinate", "PgQueuer")
MEASURES = ("throughput", "enqueue", "pickup", "limit", "flatness", "recovery", "soak")


@dataclasses.dataclass(frozen=True)
class Scale:
    """How much work and how often; `--quick` fits a minute."""

    rounds: int
    jobs: int
    window_seconds: float
    enqueues: int
    samples: int
    finished_rows: int
    lease_seconds: float
    soak_seconds: float
    tune: bool


FULL = Scale(5, 10_000, 8.0, 2_000, 200, 1_000_000, 5.0, 30.0, tune=True)
QUICK = Scale(1, 2_000, 1.0, 200, 20, 50_000, 2.0, 2.0, tune=False)


class Bench:
    def __init__(self, arena: Arena, contestants: Sequence[Contestant], scale: Scale) -> None:
        self.arena = arena
        self.scale = scale
        self.contestants = contestants

    @property
    def ours(self) -> Contestant:
        return next(one for one in self.contestants if one.name == OURS)

    def named(self, *names: str) -> list[Contestant]:
        return [one for one in self.contestants if one.name in names]

    def tune(self) -> None:
        """Each peer runs with the best of its settings on this machine, found by trying them."""
        if self.scale.tune:
            self.contestants = [self.best_of(one) for one in self.contestants]

    def best_of(self, contestant: Contestant) -> Contestant:
        rates = {}
        for options in contestant.tries:
            tried = contestant.with_options(**options)
            rates[jobs_per_second(self.arena, tried, self.scale.jobs // 2, 2.0)] = tried
        if not rates:
            return contestant
        best = rates[max(rates)]
        seen = ", ".join(f"{one.options}: {rate:,.0f}/s" for rate, one in sorted(rates.items()))
        print(f"settings of {contestant.name}: {best.options} (tried {seen})", flush=True)
        return best

    def medians(
        self, measure: Callable[[Contestant], float], among: Sequence[Contestant]
    ) -> dict[str, float]:
        """Round by round over all engines, so that a busy moment of the machine meets everybody."""
        seen: dict[str, list[float]] = {one.name: [] for one in among}
        for round_number in range(self.scale.rounds):
            for one in rotated(among, round_number):
                seen[one.name].append(measure(one))
        return {name: statistics.median(values) for name, values in seen.items()}

    def throughput(self) -> list[Row]:
        scale = self.scale
        rates = self.medians(
            lambda one: jobs_per_second(self.arena, one, scale.jobs, scale.window_seconds), self.contestants
        )
        forking = self.named("RQ/Redis")[0].with_options(forking=True)
        forked = jobs_per_second(self.arena, forking, scale.jobs // 10, scale.window_seconds / 2)
        rows = against_all("no-op jobs/s", rates, bar_against_best=3.0)
        return [*rows, Row("no-op jobs/s", rates[OURS], "RQ/Redis, forking", forked, note="information")]

    def enqueue(self) -> list[Row]:
        rows: list[Row] = []
        for mode in MODES:
            jobs = self.scale.jobs if mode == "batches" else self.scale.enqueues
            rates = self.medians(
                lambda one, mode=mode, jobs=jobs: enqueues_per_second(self.arena, one, mode, jobs),  # type: ignore[misc]
                self.contestants,
            )
            rows += (
                against_all(f"enqueues/s, {mode}", rates, bar_against_best=3.0)
                if mode == "batches"
                else singles(mode, rates)
            )
        return rows

    def pickup(self) -> list[Row]:
        waits: dict[str, list[float]] = {one.name: [] for one in self.contestants}
        rounds = max(1, self.scale.rounds // 2)
        for round_number in range(rounds):
            for one in rotated(self.contestants, round_number):
                waits[one.name] += waits_ms(self.arena, one, self.scale.samples)
        p50 = {name: quantile(values, 0.5) for name, values in waits.items()}
        p99 = {name: quantile(values, 0.99) for name, values in waits.items()}
        best = min((name for name in p50 if name != OURS), key=p50.__getitem__)
        rows = [
            Row(
                "idle pickup p50, ms",
                p50[OURS],
                name,
                value,
                1.0 if name == best else None,
                lower_is_better=True,
            )
            for name, value in p50.items()
            if name != OURS
        ]
        rows.append(
            Row("idle pickup p99, ms", p99[OURS], "bar of 25 ms", PICKUP_P99_MS, 1.0, lower_is_better=True)
        )
        return rows + [
            Row("idle pickup p99, ms", p99[OURS], name, value, lower_is_better=True)
            for name, value in p99.items()
            if name != OURS
        ]

    def limit(self) -> list[Row]:
        """Our worker and pgbench in turn; its best number of clients is what the machine can do."""
        scale, limits = self.scale, {1: list[float](), 2: list[float](), 4: list[float]()}
        rates: list[float] = []
        for _ in range(scale.rounds):
            rates.append(jobs_per_second(self.arena, self.ours, scale.jobs, scale.window_seconds))
            for clients, seen in limits.items():
                seen.append(limit_jobs_per_second(self.arena, self.ours, scale.jobs, BATCH, clients, QUEUE))
        ours = statistics.median(rates)
        medians = {clients: statistics.median(seen) for clients, seen in limits.items()}
        best = max(medians, key=medians.__getitem__)
        note = f"claim + complete of {BATCH}"
        rows = [
            Row(
                "share of the limit, jobs/s",
                ours,
                f"pgbench, {best} clients (best)",
                medians[best],
                0.6,
                note=note,
            )
        ]
        return [
            *rows,
            *(
                Row("share of the limit, jobs/s", ours, f"pgbench, {c} clients", medians[c])
                for c in limits
                if c != best
            ),
        ]

    def flatness(self) -> list[Row]:
        scale, empty, full_rates = self.scale, list[float](), list[float]()
        with full_table(self.arena, self.ours, scale.finished_rows, QUEUE) as (full, producer):
            for round_number in range(scale.rounds):
                empty.append(jobs_per_second(self.arena, self.ours, scale.jobs, scale.window_seconds))
                first = round_number * scale.jobs
                full_rates.append(
                    full_jobs_per_second(self.arena, full, producer, scale.jobs, first, scale.window_seconds)
                )
        flat, fresh = statistics.median(full_rates), statistics.median(empty)
        return [
            Row(
                f"flatness: jobs/s with {scale.finished_rows:,} finished",
                flat,
                "quire, empty table",
                fresh,
                0.9,
            )
        ]

    def recovery(self) -> list[Row]:
        lease = self.scale.lease_seconds
        found = {one.name: recover(self.arena, one, lease, lease * 4 + 20) for one in self.recoverers()}
        ours = found[OURS]
        measure = f"recovery of 50 jobs, s, lease {lease:g} s"
        rows = [
            Row(measure, ours.seconds, "lease + 2 s", lease + 2, 1.0, lower_is_better=True, note=audit(ours))
        ]
        rows += [
            Row(measure, ours.seconds, name, one.seconds, lower_is_better=True, note=audit(one))
            for name, one in found.items()
            if name != OURS
        ]
        errors = float(ours.lost + ours.doubled)
        rows.append(
            Row("recovery: jobs lost or doubled + 1", errors + 1, "none", 1, 1.0, lower_is_better=True)
        )
        never = "reclaim is left to the user's own code"
        return [
            *rows,
            Row(measure, ours.seconds, "procrastinate", float("nan"), lower_is_better=True, note=never),
        ]

    def recoverers(self) -> list[Contestant]:
        """Dramatiq needs a thread a job to have 50 running; ours and PgQueuer have slots enough."""
        threaded = [one.with_options(threads=50) for one in self.named("Dramatiq/Redis")]
        return [*self.named(OURS, "PgQueuer"), *threaded]

    def soak(self) -> list[Row]:
        found = {
            one.name: soak(self.arena, one, 200.0, self.scale.soak_seconds)
            for one in self.named(OURS, *DURABLE)
        }
        measures: dict[str, Callable[[Soak], float]] = {
            "soak at 200/s: dead tuples at the end": lambda one: one.dead_tuples,
            "soak at 200/s: row versions ended a job": lambda one: one.versions_per_job,
            "soak at 200/s: WAL bytes a job": lambda one: one.wal_bytes_per_job,
        }
        return [
            Row(
                measure,
                of(found[OURS]),
                peer,
                of(found[peer]),
                1.0 if peer == "procrastinate" else None,
                lower_is_better=True,
            )
            for measure, of in measures.items()
            for peer in DURABLE
        ]


def rotated(contestants: Sequence[Contestant], by: int) -> list[Contestant]:
    by %= len(contestants)
    return [*contestants[by:], *contestants[:by]]


def against_all(measure: str, rates: dict[str, float], bar_against_best: float) -> list[Row]:
    peers = {name: rate for name, rate in rates.items() if name != OURS}
    best = max(peers, key=peers.__getitem__)
    return [
        Row(
            measure,
            rates[OURS],
            name,
            rate,
            bar_against_best if name == best else None,
            note="best peer" if name == best else "",
        )
        for name, rate in peers.items()
    ]


def singles(mode: str, rates: dict[str, float]) -> list[Row]:
    bars = {**dict.fromkeys(DURABLE, 1.0), "Dramatiq/Redis": 0.8}
    return [
        Row(f"enqueues/s, {mode}", rates[OURS], name, rate, bars.get(name))
        for name, rate in rates.items()
        if name != OURS
    ]


def audit(recovery: Recovery) -> str:
    return f"lost {recovery.lost}, doubled {recovery.doubled}"


def run(bench: Bench, wanted: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for name in wanted:
        started = time.monotonic()
        rows += getattr(bench, name)()
        print(f"{name}: {time.monotonic() - started:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less work, one round, under a minute")
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=MEASURES, help="measures to take")
    parser.add_argument("--rounds", type=int, help="rounds instead of the scale's own")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else FULL
    if arguments.rounds:
        scale = dataclasses.replace(scale, rounds=arguments.rounds)
    with postgres() as postgres_dsn, redis() as redis_url:
        bench = Bench(Arena(postgres_dsn, redis_url), CONTESTANTS, scale)
        bench.tune()
        publish(Path(__file__).stem, run(bench, arguments.only))


if __name__ == "__main__":
    main()

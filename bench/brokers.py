"""Quire on each message broker beside the bare engine of that broker: `python -m bench.brokers [--quick]`.

The same no-op work, one worker process each, in turn, round after round. Every server syncs to disk before it answers.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

from pydantic import SecretStr

from bench.arena import OUR_MODULE, Arena, Contestant, database_name
from bench.field import FULL, QUICK, Field, Scale
from bench.measures.pickup import quantile, waits_ms
from bench.measures.throughput import START_SECONDS, jobs_per_second
from bench.quire_runner import settings_of
from bench.report import Row, publish
from bench.servers import end_on_sigterm, postgres, rabbitmq, redis
from quire.runtime.settings import Settings

WARM_UP = 50
RQ_MODULE = "quire.entrypoints.rq_worker"


@dataclasses.dataclass(frozen=True)
class Pair:
    """Ours on a broker and the engine that has the broker to itself; `bar` is for jobs a second. `command`: how that
    engine's own command line starts a worker of ours."""

    ours: Contestant
    peer: Contestant
    bar: float
    command: tuple[str, ...]


def pairs_on(redis_url: str, rabbitmq_url: str) -> list[Pair]:
    threads = {"threads": 16}
    dramatiq = ("dramatiq", "quire.entrypoints.dramatiq_worker", "--processes", "1", "--threads", "16")
    rq = ("rq.cli", "worker", "-c", RQ_MODULE, "-w", f"{RQ_MODULE}.QuireWorker", "--quiet")
    return [
        Pair(ours("redis", redis_url), peer("Dramatiq/Redis", "dramatiq", threads), 0.5, dramatiq),
        Pair(
            ours("rabbitmq", rabbitmq_url),
            peer("Dramatiq/RabbitMQ", "dramatiq_rabbitmq", {**threads, "rabbitmq": rabbitmq_url}),
            0.5,
            dramatiq,
        ),
        Pair(ours("rq", f"rq+{redis_url}"), peer("RQ/Redis", "rq", {}), 1.0, rq),
    ]


def ours(name: str, url: str) -> Contestant:
    return Contestant(f"quire on {name}", OUR_MODULE, "postgres", {"batch": 500, "broker": url})


def peer(name: str, module: str, options: dict[str, object]) -> Contestant:
    return Contestant(name, f"bench.peers.{module}", "broker", options)


def throughput(field: Field, pairs: Sequence[Pair]) -> list[Row]:
    scale = field.scale
    rates = field.medians(lambda one: jobs_per_second(field.arena, one, scale.jobs, scale.window_seconds))
    own = {pair.ours.name: statistics.median(own_rates(field, pair)) for pair in pairs}
    return [
        *rows("no-op jobs/s", rates, pairs, barred=True),
        *rows("no-op jobs/s by its command line", {**rates, **own}, pairs, barred=True),
    ]


def own_rates(field: Field, pair: Pair) -> list[float]:
    return [own_rate(field, pair) for _ in range(field.scale.rounds)]


def own_rate(field: Field, pair: Pair) -> float:
    """From the first claim to the last completion, by the database's clock; what starts the process is not counted."""
    with field.arena.producer(pair.ours) as producer:
        producer.ask("batches", count=field.scale.jobs)
        with own_worker(field, pair):
            producer.ask("await_finished", timeout=START_SECONDS)
        sql = "SELECT count(*) / extract(epoch FROM max(finished_at) - min(started_at))::float8 FROM jobs"
        return float(field.arena.execute(sql, database_name(pair.ours))[0][0])


@contextlib.contextmanager
def own_worker(field: Field, pair: Pair) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as directory:
        names = environment_of(settings_of({**pair.ours.options, "dsn": field.arena.dsn(pair.ours)}))
        process = subprocess.Popen(
            [sys.executable, "-m", *pair.command],
            env={**os.environ, **names},
            cwd=directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def environment_of(settings: Settings) -> dict[str, str]:
    """The settings of the bench's own worker, as another process reads them."""
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    shown = {
        name: value.get_secret_value() if isinstance(value, SecretStr) else value
        for name, value in given.items()
    }
    return {str(Settings.model_fields[name].alias): str(value) for name, value in shown.items()}


def accepted(field: Field, pairs: Sequence[Pair]) -> list[Row]:
    def rate(contestant: Contestant) -> float:
        count = field.scale.enqueues
        with field.arena.producer(contestant) as producer:
            # A few go first, so that connections and prepared statements are there.
            producer.ask("sequential", start=0, count=WARM_UP)
            return count / producer.ask("sequential", start=WARM_UP, count=count)["seconds"]

    return rows("accepted/s, one by one", field.medians(rate), pairs)


def pickup(field: Field, pairs: Sequence[Pair]) -> list[Row]:
    waits: dict[str, list[float]] = {one.name: [] for one in field.contestants}
    for one in field.turns():
        waits[one.name] += waits_ms(field.arena, one, field.scale.samples)
    medians = {name: quantile(values, 0.5) for name, values in waits.items()}
    return rows("idle pickup p50, ms", medians, pairs, lower_is_better=True)


def rows(
    measure: str,
    values: dict[str, float],
    pairs: Sequence[Pair],
    *,
    barred: bool = False,
    lower_is_better: bool = False,
) -> list[Row]:
    return [
        Row(
            f"{measure}: {pair.ours.name}",
            values[pair.ours.name],
            pair.peer.name,
            values[pair.peer.name],
            pair.bar if barred else None,
            lower_is_better,
        )
        for pair in pairs
    ]


MEASURES: dict[str, Callable[[Field, Sequence[Pair]], list[Row]]] = {
    "throughput": throughput,
    "accepted": accepted,
    "pickup": pickup,
}

QUICK_MEASURES = ("throughput", "accepted")


def measured(name: str, field: Field, pairs: Sequence[Pair]) -> list[Row]:
    started = time.monotonic()
    found = MEASURES[name](field, pairs)
    print(f"{name}: {time.monotonic() - started:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    return found


def scale_of(arguments: argparse.Namespace) -> Scale:
    scale = dataclasses.replace(QUICK, enqueues=200) if arguments.quick else FULL
    return dataclasses.replace(scale, rounds=arguments.rounds or min(3, scale.rounds))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less work, one round, without pickup")
    parser.add_argument("--only", nargs="+", choices=list(MEASURES))
    parser.add_argument("--rounds", type=int, help="instead of the scale's own")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    end_on_sigterm()
    with postgres() as postgres_dsn, redis() as redis_url, rabbitmq() as rabbitmq_url:
        pairs = pairs_on(redis_url, rabbitmq_url)
        contestants = [one for pair in pairs for one in (pair.ours, pair.peer)]
        field = Field(Arena(postgres_dsn, redis_url), contestants, scale_of(arguments))
        chosen = arguments.only or (QUICK_MEASURES if arguments.quick else MEASURES)
        publish("brokers", [row for name in chosen for row in measured(name, field, pairs)])


if __name__ == "__main__":
    main()

"""The job engine beside its peers, in one run on one machine: `python -m bench.jobs [--quick]`.

Every engine syncs to disk before it answers, runs in processes of its own, in turn, round after round.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from collections.abc import Callable

from bench.arena import CONTESTANTS, OURS, Arena
from bench.field import FULL, QUICK, Field, Scale
from bench.measures import enqueue, flatness, limit, pickup, recovery, soak, throughput
from bench.report import Row, publish
from bench.servers import end_on_sigterm, postgres, redis

MEASURES: dict[str, Callable[[Field], list[Row]]] = {
    "throughput": throughput.rows,
    "enqueue": enqueue.rows,
    "pickup": pickup.rows,
    "limit": limit.rows,
    "flatness": flatness.rows,
    "recovery": recovery.rows,
    "soak": soak.rows,
}
PEERS = [one.name for one in CONTESTANTS if one.name != OURS]
# The ones that bars are about; a minute has no room for all.
QUICK_PEERS = ["procrastinate", "PgQueuer", "Dramatiq/Redis"]


def measured(name: str, field: Field) -> list[Row]:
    started = time.monotonic()
    rows = MEASURES[name](field)
    print(f"{name}: {time.monotonic() - started:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    return rows


def scale_of(arguments: argparse.Namespace) -> Scale:
    scale = QUICK if arguments.quick else FULL
    return dataclasses.replace(scale, rounds=arguments.rounds or scale.rounds)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="less work, one round, three peers, under a minute"
    )
    parser.add_argument("--only", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--rounds", type=int, help="instead of the scale's own")
    parser.add_argument("--peers", nargs="+", choices=PEERS, help="beside which ones")
    parser.add_argument("--no-tuning", action="store_true", help="take the settings that were best before")
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    end_on_sigterm()
    with postgres() as postgres_dsn, redis() as redis_url:
        peers = arguments.peers or (QUICK_PEERS if arguments.quick else PEERS)
        chosen = [one for one in CONTESTANTS if one.name in (OURS, *peers)]
        field = Field(Arena(postgres_dsn, redis_url), chosen, scale_of(arguments))
        if not (arguments.quick or arguments.no_tuning):
            field = throughput.tuned(field)
        publish("jobs", [row for name in arguments.only for row in measured(name, field)])


if __name__ == "__main__":
    main()

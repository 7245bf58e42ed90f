"""Recovery: kill -9 a worker with 50 running jobs; seconds until another worker has finished them all."""

from __future__ import annotations

import dataclasses
import math
import time
from collections import Counter

from bench.arena import OURS, Arena, Contestant
from bench.engine_process import EngineProcess
from bench.field import Field
from bench.report import Row

JOBS = 50
PROBES_MAX = 100
NO_RECLAIM = "leaves reclaim to the user's own code"
PROBE_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class Recovery:
    seconds: float
    lost: int
    doubled: int


def rows(field: Field) -> list[Row]:
    lease = field.scale.lease_seconds
    found = {one.name: recover(field.arena, one, lease, lease * 4 + 20) for one in recoverers(field)}
    ours = found.pop(OURS)
    measure = f"recovery of {JOBS} jobs after kill -9, s, lease {lease:g} s"
    wrong = ours.lost + ours.doubled
    return [
        Row(measure, ours.seconds, "lease + 2 s", lease + 2, 1.0, lower_is_better=True, note=audit(ours)),
        Row("recovery: 1 + jobs lost or doubled", 1 + wrong, "none", 1, 1.0, lower_is_better=True),
        *(
            Row(measure, ours.seconds, name, one.seconds, lower_is_better=True, note=audit(one))
            for name, one in found.items()
        ),
        Row(measure, ours.seconds, "procrastinate", math.nan, lower_is_better=True, note=NO_RECLAIM),
    ]


def recoverers(field: Field) -> list[Contestant]:
    """Dramatiq needs a thread a job to have them all running; ours and PgQueuer have slots enough."""
    if not field.scale.all_peers:
        return field.named(OURS)
    threaded = [one.with_options(threads=JOBS) for one in field.named("Dramatiq/Redis")]
    return [*field.named(OURS, "PgQueuer"), *threaded]


def audit(recovery: Recovery) -> str:
    return f"lost {recovery.lost}, doubled {recovery.doubled}"


def recover(arena: Arena, contestant: Contestant, lease_seconds: float, patience_seconds: float) -> Recovery:
    """The doomed worker's handlers never return; its heir starts before the kill and has no-op handlers."""
    with (
        arena.producer(contestant) as producer,
        arena.process(contestant, "work", hold=True, lease=lease_seconds) as doomed,
    ):
        producer.ask("batches", count=JOBS)
        held = doomed.ask("await", count=JOBS, timeout=patience_seconds)["count"]
        if held != JOBS:
            raise RuntimeError(f"{contestant.name}: only {held} of {JOBS} jobs were running before the kill")
        with arena.process(contestant, "work", lease=lease_seconds) as heir:
            sent = JOBS + await_ready(producer, heir)
            killed_at = time.monotonic()
            doomed.crash()
            seen = heir.ask("await", count=sent, timeout=patience_seconds)
            finished = producer.ask("await_finished", timeout=patience_seconds)
            numbers = Counter(heir.ask("waits")["numbers"])
    return Recovery(
        seconds=(finished["at"] or seen["last_at"]) - killed_at,
        lost=sum(number not in numbers for number in range(sent)),
        doubled=sum(times - 1 for times in numbers.values()),
    )


def await_ready(producer: EngineProcess, heir: EngineProcess) -> int:
    """The heir is up when it handles a job; the doomed worker may take some, which then need rescue too."""
    for probes in range(1, PROBES_MAX + 1):
        producer.ask("sequential", start=JOBS + probes - 1, count=1)
        if heir.ask("await", count=1, timeout=PROBE_SECONDS)["count"]:
            return probes
    raise RuntimeError("the second worker takes no jobs")

"""Who runs, how much and how often: the contestants with their settings, and the scale of a run."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Sequence

from bench.arena import OURS, Arena, Contestant
from bench.report import Row


@dataclasses.dataclass(frozen=True)
class Scale:
    rounds: int
    jobs: int
    window_seconds: float
    enqueues: int
    samples: int
    finished_rows: int
    lease_seconds: float
    soak_seconds: float
    """Whether peers that no bar is about run beside, where a round is long."""
    all_peers: bool = True


FULL = Scale(
    rounds=5,
    jobs=10_000,
    window_seconds=8.0,
    enqueues=2_000,
    samples=50,
    finished_rows=1_000_000,
    lease_seconds=5.0,
    soak_seconds=45.0,
)
# Fits a minute on a quiet machine; says whether it all runs and roughly where it stands, no more.
QUICK = Scale(
    rounds=1,
    jobs=2_000,
    window_seconds=0.8,
    enqueues=100,
    samples=10,
    finished_rows=20_000,
    lease_seconds=1.0,
    soak_seconds=1.0,
    all_peers=False,
)


@dataclasses.dataclass(frozen=True)
class Field:
    arena: Arena
    contestants: Sequence[Contestant]
    scale: Scale

    @property
    def ours(self) -> Contestant:
        return self.named(OURS)[0]

    def named(self, *names: str) -> list[Contestant]:
        return [one for one in self.contestants if one.name in names]

    def turns(self) -> Iterator[Contestant]:
        """Round by round over all, each round begun by another, so that a busy moment of the machine meets all."""
        for number in range(self.scale.rounds):
            first = number % len(self.contestants)
            yield from self.contestants[first:]
            yield from self.contestants[:first]

    def medians(self, measure: Callable[[Contestant], float]) -> dict[str, float]:
        seen: dict[str, list[float]] = {one.name: [] for one in self.contestants}
        for one in self.turns():
            seen[one.name].append(measure(one))
        return {name: statistics.median(values) for name, values in seen.items()}


def against_all(measure: str, rates: dict[str, float], bar_against_best: float) -> list[Row]:
    """A row a peer; the bar is set against the best of them."""
    peers = {name: rate for name, rate in rates.items() if name != OURS}
    best = max(peers, key=peers.__getitem__)
    rows = []
    for name, rate in peers.items():
        is_best = name == best
        rows.append(
            Row(
                measure,
                rates[OURS],
                name,
                rate,
                bar_against_best if is_best else None,
                note="best peer" if is_best else "",
            )
        )
    return rows

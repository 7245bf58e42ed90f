"""Everything a measure of rendering needs: a running Quire, a caller, invoices, peers, and how much to do."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path

from bench.render_client import RenderClient, seconds_for
from bench.render_documents import Invoices
from bench.render_peer import Peer
from bench.render_quire import QuireUp


@dataclass(frozen=True)
class Scale:
    rounds: int
    documents: int
    """Documents of a round; a slow peer prints `slow_documents`, which is as true and takes less time."""
    slow_documents: int
    answers: int
    repeats: int
    memory_early: int
    memory_late: int


FULL = Scale(
    rounds=3,
    documents=200,
    slow_documents=24,
    answers=100,
    repeats=30,
    memory_early=100,
    memory_late=2000,
)
QUICK = Scale(
    rounds=1, documents=40, slow_documents=4, answers=20, repeats=8, memory_early=30, memory_late=100
)


@dataclass(frozen=True)
class Field:
    quire: QuireUp
    caller: RenderClient
    invoices: Invoices
    peers: tuple[Peer, ...]
    directory: Path
    scale: Scale
    concurrency: int

    async def rate(self, count: int, *, e_invoice: bool = True) -> float:
        """Documents a second from end to end; twice as many callers as pages keep the worker supplied."""
        payload = functools.partial(self.invoices.next_payload, e_invoice=e_invoice)
        return count / await seconds_for(self.caller, payload, count, self.lanes)

    @property
    def lanes(self) -> int:
        return 2 * self.concurrency


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"

"""Claims from all queues a worker serves in one order, class before age, whether a queue stands behind a gate or not.

A round asks whose turn it is and takes that many jobs from each lane. What a lane does not give, because a gate or
another worker holds it, the next round takes from the other lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from uuid import UUID

from quire.jobs.domain.lease import Lease
from quire.jobs.domain.policies import Policies
from quire.jobs.domain.queue import SIZE_CLASSES, QueuePolicy
from quire.jobs.infrastructure.postgres.claims.gated_claim import claim_gated_queue
from quire.jobs.infrastructure.postgres.claims.lane import Lane, Turn, claim_lanes
from quire.jobs.infrastructure.postgres.claims.lease_row import leases_of
from quire.jobs.infrastructure.postgres.sql import load
from quire.jobs.ports.v1.lease_store import Claim
from quire.runtime.database import Connection

SQL = load("leases.sql")


@dataclass(slots=True)
class _Haul:
    """What the rounds of one claim brought, and which lanes have nothing more to give."""

    parts: list[list[Lease]]
    empty: set[Lane]
    retry_after_seconds: float | None = None

    @property
    def size(self) -> int:
        return sum(map(len, self.parts))

    def wait(self, seconds: float | None) -> None:
        known = (self.retry_after_seconds, seconds)
        self.retry_after_seconds = min((wait for wait in known if wait is not None), default=None)

    def in_order(self) -> list[Lease]:
        """One statement's leases are in order already."""
        if len(self.parts) == 1:
            return self.parts[0]
        leases = [lease for part in self.parts for lease in part]
        return sorted(leases, key=attrgetter("priority", "run_at", "job_id"))


async def claim_in_order(
    connection: Connection,
    policies: Policies,
    worker_id: UUID,
    queues: Iterable[QueuePolicy],
    limit: int,
    lease_seconds: float,
) -> Claim:
    """Ends: every round but the last finds a lane empty."""
    by_name = {queue.name: queue for queue in queues}
    lanes = [Lane(name, priority) for name in by_name for priority in range(len(SIZE_CLASSES))]
    haul = _Haul([], set())
    while haul.size < limit:
        left, room = [lane for lane in lanes if lane not in haul.empty], limit - haul.size
        try:
            again = await _take_turns(
                connection, policies, worker_id, by_name, left, room, lease_seconds, haul
            )
        except Exception:
            # What is claimed already must reach its worker; if the trouble lasts, the next claim meets it again.
            if not haul.size:
                raise
            break
        if not again:
            break
    return Claim(haul.in_order(), haul.retry_after_seconds)


async def _take_turns(
    connection: Connection,
    policies: Policies,
    worker_id: UUID,
    queues: Mapping[str, QueuePolicy],
    lanes: Sequence[Lane],
    room: int,
    lease_seconds: float,
    haul: _Haul,
) -> bool:
    """One round. True: some lane gave less than its share, so that others may have more."""
    known_empty = len(haul.empty)
    rows = await connection.fetch(
        SQL["find_turns"], [lane.queue for lane in lanes], [lane.priority for lane in lanes], room
    )
    turns = sorted(Turn(Lane(row["queue"], row["priority"]), row["jobs"] or room) for row in rows)
    opened = [turn for turn in turns if not queues[turn.lane.queue].gated]
    if opened:
        await _take_open(connection, worker_id, opened, lease_seconds, haul)
    gated = [turn for turn in turns if queues[turn.lane.queue].gated]
    for name, own in groupby(gated, key=lambda turn: turn.lane.queue):
        await _take_gated(connection, policies, worker_id, queues[name], list(own), lease_seconds, haul)
    only_one_is_due = len(rows) == 1 and rows[0]["jobs"] is None
    return not only_one_is_due and len(haul.empty) > known_empty


async def _take_open(
    connection: Connection, worker_id: UUID, turns: Sequence[Turn], lease_seconds: float, haul: _Haul
) -> None:
    asked = sum(turn.jobs for turn in turns)
    rows = await claim_lanes(connection, worker_id, turns, asked, lease_seconds)
    haul.parts.append(leases_of(rows))
    if len(rows) < asked:
        given = Counter(Lane(row["queue"], row["priority"]) for row in rows)
        haul.empty |= {turn.lane for turn in turns if given[turn.lane] < turn.jobs}


async def _take_gated(
    connection: Connection,
    policies: Policies,
    worker_id: UUID,
    queue: QueuePolicy,
    turns: Sequence[Turn],
    lease_seconds: float,
    haul: _Haul,
) -> None:
    taken = await claim_gated_queue(connection, policies, worker_id, queue, turns, lease_seconds)
    haul.parts.append(taken.leases)
    haul.wait(taken.retry_after_seconds)
    if len(taken.leases) < sum(turn.jobs for turn in turns):
        haul.empty |= {Lane(queue.name, priority) for priority in range(turns[-1].lane.priority + 1)}

"""Where processes leave what they counted: one row for each, and one for all that ended long ago."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from quire.runtime.database import Database
from quire.runtime.telemetry.metric_snapshot import Snapshot, add, from_json, to_json, without_gauges

# A process writes at least every ten seconds (`metric_shipper.py`).
LIVE_SECONDS = 30.0
# A process that was silent for longer is taken for ended. One that comes back later begins a row of its own.
ENDED_SECONDS = 600.0
ENDED = uuid.UUID(int=0)

# renew_snapshot: everything a process counted so far. Figures are totals, so writing twice is harmless. Locks its row.
RENEW_SNAPSHOT = """
UPDATE metric_snapshots SET figures = $2, written_at = now() WHERE process_id = $1
RETURNING true"""

# insert_snapshot: the first row of a process. Locks nothing that others want.
INSERT_SNAPSHOT = "INSERT INTO metric_snapshots (process_id, process, figures) VALUES ($1, $2, $3)"

# read_snapshots: of every process; one statement, so that a process which is just being folded counts once. No locks.
READ_SNAPSHOTS = """
SELECT process_id, figures, process_id <> $1 AND written_at > now() - make_interval(secs => $2) AS live
FROM metric_snapshots"""

# lock_ended: one process folds at a time; the others leave it to it. Locks the row of the ended ones.
LOCK_ENDED = "SELECT figures FROM metric_snapshots WHERE process_id = $1 FOR UPDATE SKIP LOCKED"

# take_ended: rows of processes that were silent for long. Locks them; a late writer then finds no row.
TAKE_ENDED = """
DELETE FROM metric_snapshots
WHERE process_id <> $1 AND written_at < now() - make_interval(secs => $2)
RETURNING figures"""


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    process_id: uuid.UUID
    snapshot: Snapshot


class MetricStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def renew(self, process_id: uuid.UUID, snapshot: Snapshot) -> bool:
        """False where there is no row: never written, or folded into the sum of the ended ones."""
        async with self._database.acquire() as connection:
            return await connection.fetchval(RENEW_SNAPSHOT, process_id, to_json(snapshot)) is True

    async def insert(self, process_id: uuid.UUID, process: str, snapshot: Snapshot) -> None:
        async with self._database.acquire() as connection:
            await connection.execute(INSERT_SNAPSHOT, process_id, process, to_json(snapshot))

    async def read(self) -> list[StoredSnapshot]:
        """A process that does not write any more has counts, and no levels."""
        async with self._database.acquire() as connection:
            rows = await connection.fetch(READ_SNAPSHOTS, ENDED, LIVE_SECONDS)
        return [
            StoredSnapshot(
                row["process_id"],
                from_json(row["figures"]) if row["live"] else without_gauges(from_json(row["figures"])),
            )
            for row in rows
        ]

    async def fold_ended(self) -> int:
        """Adds the counts of ended processes to one row and removes theirs. Returns how many they were."""
        async with self._database.transaction() as connection:
            kept = await connection.fetchrow(LOCK_ENDED, ENDED)
            if kept is None:
                return 0
            rows = await connection.fetch(TAKE_ENDED, ENDED, ENDED_SECONDS)
            if rows:
                ended = (without_gauges(from_json(row["figures"])) for row in rows)
                total = add([*ended, from_json(kept["figures"])])
                await connection.execute(RENEW_SNAPSHOT, ENDED, to_json(total))
        return len(rows)

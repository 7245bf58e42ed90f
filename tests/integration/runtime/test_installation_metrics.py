"""What several processes counted, told by each API process as one."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge

from quire.runtime.database import Database, DatabaseUnavailableError
from quire.runtime.telemetry import InstallationMetrics, MetricStore, added_up
from quire.runtime.telemetry.metric_shipper import MetricShipper

SILENT_FOR_LONG = "UPDATE metric_snapshots SET written_at = now() - interval '1 hour' WHERE process_id = $1"


@pytest.fixture
async def database(dsn: str) -> AsyncIterator[Database]:
    database = await Database.open(dsn, application="test")
    yield database
    await database.close()


class Process:
    """One that counts, as the registry of a real process would."""

    def __init__(self, database: Database) -> None:
        registry = CollectorRegistry()
        self.done = Counter("metrics_test_done_total", "Done", registry=registry)
        self.running = added_up(Gauge("metrics_test_running", "Running", registry=registry))
        self.store = MetricStore(database)
        self.shipper = MetricShipper(self.store, "test", registry)
        self.metrics = InstallationMetrics(self.store, self.shipper)

    async def tells(self, name: str) -> float | None:
        body, _ = await self.metrics.render("")
        found = re.search(rf"^{name} (\S+)$", body.decode(), re.MULTILINE)
        return float(found[1]) if found else None

    async def sums(self) -> tuple[float | None, float | None]:
        return await self.tells("metrics_test_done_total"), await self.tells("metrics_test_running")


async def test_every_process_tells_the_same_sum_of_all(database: Database) -> None:
    first, second, worker = Process(database), Process(database), Process(database)
    first.done.inc(1)
    worker.done.inc(10)
    worker.running.set(3)
    await worker.shipper.ship()
    assert await first.sums() == (11.0, 3.0)
    second.done.inc(100)
    assert await second.sums() == (111.0, 3.0)
    assert await first.sums() == (111.0, 3.0)


async def test_a_write_that_is_repeated_counts_once(database: Database) -> None:
    """As when the first one was committed and its acknowledgement was lost."""
    api, worker = Process(database), Process(database)
    worker.done.inc(5)
    await worker.store.insert(worker.shipper.process_id, "test", worker.shipper.current())
    await worker.shipper.ship()
    await worker.shipper.ship()
    assert await api.sums() == (5.0, 0.0)


async def test_nothing_is_written_while_nothing_changed(database: Database) -> None:
    worker = Process(database)
    written = "SELECT xmin::text FROM metric_snapshots WHERE process_id = $1"
    async with database.acquire() as connection:
        await worker.shipper.ship()
        before = await connection.fetchval(written, worker.shipper.process_id)
        await worker.shipper.ship()
        assert await connection.fetchval(written, worker.shipper.process_id) == before
        worker.done.inc()
        await worker.shipper.ship()
        assert await connection.fetchval(written, worker.shipper.process_id) != before


async def test_counts_of_an_ended_process_stay_and_what_it_had_in_hand_does_not(database: Database) -> None:
    api, worker = Process(database), Process(database)
    worker.done.inc(5)
    worker.running.set(2)
    await worker.shipper.ship()
    assert await api.sums() == (5.0, 2.0)
    await _fall_silent(database, worker.shipper.process_id)
    assert await api.sums() == (5.0, 0.0)
    assert await api.store.fold_ended() == 1
    assert await _rows(database) == 2
    assert await api.sums() == (5.0, 0.0)


async def test_a_process_that_was_taken_for_ended_and_wakes_is_not_counted_twice(database: Database) -> None:
    api, sleeper, older = Process(database), Process(database), Process(database)
    older.done.inc(1000)
    sleeper.done.inc(5)
    for process in (older, sleeper):
        await process.shipper.ship()
        await _fall_silent(database, process.shipper.process_id)
    assert await api.store.fold_ended() == 2
    sleeper.done.inc(2)
    sleeper.running.set(1)
    await sleeper.shipper.ship()
    assert await api.sums() == (1007.0, 1.0)
    sleeper.done.inc(1)
    await sleeper.shipper.ship()
    assert await api.sums() == (1008.0, 1.0)


async def test_without_the_database_the_others_are_told_as_last_seen_and_nothing_before_that(
    dsn: str,
) -> None:
    lost = await Database.open(dsn, application="test")
    known, fresh, worker = Process(lost), Process(lost), Process(lost)
    worker.done.inc(5)
    await worker.shipper.ship()
    assert await known.sums() == (5.0, 0.0)
    await lost.close()
    known.done.inc(1)
    assert await known.sums() == (6.0, 0.0)
    with pytest.raises(DatabaseUnavailableError):
        await fresh.sums()


async def _fall_silent(database: Database, process_id: uuid.UUID) -> None:
    async with database.acquire() as connection:
        assert await connection.execute(SILENT_FOR_LONG, process_id) == "UPDATE 1"


async def _rows(database: Database) -> int:
    async with database.acquire() as connection:
        count: int = await connection.fetchval("SELECT count(*) FROM metric_snapshots")
    return count

"""The host's clock jumps by days under running workers: leases go by the database's clock and do not notice."""

from __future__ import annotations

import ast
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.auditor import Auditor, all_ended
from tests.support.load import enqueue
from tests.support.processes import ODD, WorkerProcess, WorkerYard, holds
from tests.support.records import job_of
from tests.support.shifted_clock import DAY_SECONDS
from tests.support.site import Site

import quire.jobs
from quire.entrypoints.engine import Engine
from quire.jobs import JobRequest

WALL_CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today"}
# They decide nothing about leases: the name of an artifact (whose fence keeps two attempts apart), and how far
# ahead a request may be scheduled.
HARMLESS = {"infrastructure/postgres/artifact_store.py", "presentation/schemas/submission.py"}


async def test_leases_neither_end_early_nor_live_on_when_the_hosts_clock_jumps(
    site: Site, engine: Engine, yard: WorkerYard
) -> None:
    options = {"WORKER_LEASE_TTL_SEC": 1, "WORKER_CONCURRENCY": 3}
    ahead, behind = yard.start(ODD, **options), yard.start(ODD, **options)
    ahead_id, behind_id = await ahead.started(), await behind.started()
    first = await enqueue(engine, *jobs("first"))
    await holds(engine, ahead_id, 3)
    await holds(engine, behind_id, 3)
    ahead.send(signal.SIGUSR1)
    behind.send(signal.SIGUSR2)
    assert [await days_off(ahead), await days_off(behind)] == [1, -2]
    await all_ended(engine)

    second = await enqueue(engine, *jobs("second"))
    orphans = await holds(engine, ahead_id, 3)
    await holds(engine, behind_id, 3)
    ahead.kill()
    await all_ended(engine)
    crashed = [job_id for job_id in first + second if (await job_of(engine, job_id)).crash_count]
    assert sorted(crashed) == sorted(orphans)
    report = await Auditor(engine, site.storage_dir, first + second).report()
    assert report.states == {"succeeded": 12}
    assert report.reclaims == 3


def jobs(name: str) -> list[JobRequest]:
    """Longer than two leases each, so that they live by renewal."""
    return [JobRequest("jobs.store", {"text": f"{name} {n}", "seconds": 2.2}) for n in range(6)]


async def days_off(worker: WorkerProcess) -> int:
    """By how much the worker's own clock is wrong now."""
    (entry,) = await worker.said("clock_jumped")
    return round((float(str(entry["now"])) - time.time()) / DAY_SECONDS)


def test_the_engine_reads_no_wall_clock_of_its_host() -> None:
    root = Path(str(quire.jobs.__file__)).parent
    readers = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if WALL_CLOCKS & set(_called_names(ast.parse(path.read_text())))
    }
    assert readers - HARMLESS == set()


def _called_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"

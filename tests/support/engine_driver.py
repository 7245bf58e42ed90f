"""Drives the real stores from a synchronous state machine, over one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from tests.support.engine_fixture import (
    EVERYTHING,
    claim,
    claim_suspect,
    expire_lease,
    opened_engine,
    run_sql,
    submission,
)

from quire.jobs.domain.lease import HeartbeatReply, Lease
from quire.jobs.domain.outcome import Cancelled, Failed, HandedBack, Succeeded
from quire.jobs.infrastructure.postgres.lease_store import PostgresLeaseRenewer
from quire.jobs.ports.v1.lease_store import DeadLetter, Retry

T = TypeVar("T")
TABLES = ("jobs", "job_events", "job_dependencies", "job_lanes", "job_running", "job_interests", "problems")


class EngineDriver:
    def __init__(self, dsn: str, directory: Path) -> None:
        self._dsn = dsn
        self._runner = asyncio.Runner()
        self._opening = opened_engine(dsn, directory)
        self._renewers: dict[UUID, PostgresLeaseRenewer] = {}
        self.engine = self.run(self._opening.__aenter__())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def close(self) -> None:
        for renewer in self._renewers.values():
            self.run(renewer.close())
        self.run(self._opening.__aexit__(None, None, None))
        self._runner.close()

    def sql(self, text: str, *arguments: object) -> list[tuple[Any, ...]]:
        return self.run(run_sql(self.engine, text, *arguments))

    def clear(self) -> None:
        for table in TABLES:
            self.sql(f"DELETE FROM {table}")

    def insert(self, job_id: UUID, key: bytes | None, depends_on: tuple[UUID, ...]) -> bool:
        item = submission(id=job_id, job_key=key, depends_on=depends_on)
        return job_id in self.run(self.engine.submissions.insert([item]))

    def claim(self, worker: UUID, limit: int) -> list[Lease]:
        return self.run(claim(self.engine, worker, limit=limit, lease_seconds=600.0)).leases

    def claim_suspect(self, worker: UUID) -> list[Lease]:
        return self.run(claim_suspect(self.engine, worker, lease_seconds=600.0)).leases

    def renew(self, worker: UUID, leases: Sequence[Lease]) -> HeartbeatReply:
        renewer = self._renewers.setdefault(worker, PostgresLeaseRenewer(self._dsn, worker, 600.0, 10.0))
        return self.run(renewer.renew([(lease.job_id, lease.fence) for lease in leases]))

    def complete(self, worker: UUID, leases: Sequence[Lease]) -> frozenset[UUID]:
        done = [Succeeded(lease, 1, 600.0) for lease in leases]
        return self.run(self.engine.leases.complete(worker, done)).accepted

    def retry(self, worker: UUID, lease: Lease, code: str) -> frozenset[UUID]:
        return self.run(self.engine.leases.retry(worker, [Retry(Failed(lease, 1, code, "no"), 0.0)]))

    def bury(self, worker: UUID, lease: Lease, code: str) -> frozenset[UUID]:
        return self.run(self.engine.leases.bury(worker, [DeadLetter(Failed(lease, 1, code, "no"), False)]))

    def hand_back(self, worker: UUID, lease: Lease) -> frozenset[UUID]:
        return self.run(self.engine.leases.hand_back(worker, [HandedBack(lease, 1, "shutdown")]))

    def end_cancelled(self, worker: UUID, lease: Lease) -> frozenset[UUID]:
        return self.run(self.engine.leases.cancel(worker, [Cancelled(lease, 1)]))

    def reclaim(self) -> int:
        return self.run(self.engine.leases.reclaim(100)).total

    def expire_lease(self, job_id: UUID) -> None:
        self.run(expire_lease(self.engine, job_id))

    def expire_job(self, job_id: UUID) -> int:
        self.sql("UPDATE jobs SET expires_at = now() - interval '1 s' WHERE id = $1", job_id)
        return len(self.run(self.engine.expiry.expire([job_id], "sweeper")))

    def cancel(self, job_id: UUID) -> str | None:
        return self.run(self.engine.board.cancel(job_id, EVERYTHING, "ann", force=True))

    def decide(self, job_id: UUID, decision: str) -> None:
        log = self.engine.problems

        async def decide() -> None:
            problem_id = await log.open_of_job(job_id)
            assert problem_id is not None
            problem = await log.get(problem_id, EVERYTHING)
            assert problem is not None
            await (log.retry(problem, "olga") if decision == "retry" else log.discard(problem, "olga"))

        self.run(decide())
